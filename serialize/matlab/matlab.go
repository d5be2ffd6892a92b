// Package matlab reads MATLAB 7.3 files as MATLAB shows them: axes in MATLAB's order, which is
// the reverse of HDF5's, logical and complex arrays, text as strings, and sparse matrices as
// dense arrays that are decoded on demand. Structs are groups. Cells of text are arrays of
// strings; the elements of other cells are c{1,2}, and those of struct arrays s(1,2)/field. Tables
// and objects are listed and not read.
//
// Files that Octave writes with save -hdf5 are the format octave, and read in the same way.
package matlab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/internal/sparse"
	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

func init() {
	convention.Convention{
		Name: "matlab", Extensions: []string{".mat"}, Match: match,
		Meanings: func(*hdf5.File) convention.Meanings { return meaningOf },
	}.Register()
}

// header begins the user block of a file.
const header = "MATLAB 7.3 MAT-file"

// match looks for the header, and for a variable with a class.
func match(f *hdf5.File) bool {
	var head [len(header)]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || f.UserBlock() < 512 || string(head[:]) != header {
		return false
	}
	return convention.HasMember(f, func(o *hdf5.Object) bool {
		return (o.Kind == hdf5.KindGroup || o.Kind == hdf5.KindDataset) && has(o, attrClass)
	})
}

// Groups of MATLAB itself: the elements of cells and of struct arrays, and objects.
const (
	references = "/#refs#"
	subsystem  = "/#subsystem#"
)

// The attributes of a variable.
const (
	attrClass  = "MATLAB_class"
	attrEmpty  = "MATLAB_empty"         // the dataset holds the shape of an array without elements
	attrSparse = "MATLAB_sparse"        // the number of rows of a sparse matrix
	attrObject = "MATLAB_object_decode" // the dataset holds the identity of an object
)

// types are the element types of classes of numbers.
var types = map[string]dtype.Type{
	"double": dtype.Float64, "single": dtype.Float32, "logical": dtype.Bool, "char": dtype.Uint16,
	"int8": dtype.Int8, "int16": dtype.Int16, "int32": dtype.Int32, "int64": dtype.Int64,
	"uint8": dtype.Uint8, "uint16": dtype.Uint16, "uint32": dtype.Uint32, "uint64": dtype.Uint64,
}

func meaningOf(o *hdf5.Object) (m convention.Meaning, err error) {
	m.Hidden = func(name string) bool { return strings.HasPrefix(name, "MATLAB_") || name == "H5PATH" }
	m.Part = slices.ContainsFunc([]string{references, subsystem}, func(group string) bool {
		return o.Path == group || strings.HasPrefix(o.Path, group+"/")
	})
	class := convention.Text(o, attrClass)
	_, isNumber := types[class]
	switch {
	case has(o, attrSparse) && o.Kind == hdf5.KindGroup:
		err = readSparse(&m, o, class)
	case o.Kind == hdf5.KindGroup:
		if class == "struct" {
			err = readStruct(&m, o)
		}
	case has(o, attrObject) || class == "function_handle":
		err = readUnsupported(&m, o, class)
	case has(o, attrEmpty):
		err = readEmpty(&m, o, class)
	case class == "char":
		err = readText(&m, o)
	case isNumber:
		err = readNumbers(&m, o, class)
	default:
		err = readCell(&m, o, class)
	}
	if err != nil && m.Entry == nil {
		m.Members, m.Entry = nil, &serialize.Entry{Elements: &serialize.Elements{View: views.Of(), Type: class}}
	}
	return m, err
}

func has(o *hdf5.Object, attribute string) bool {
	_, err := o.Attribute(attribute)
	return err == nil
}

// readUnsupported describes a variable that cannot be read as one array, and returns the
// error about it.
func readUnsupported(m *convention.Meaning, o *hdf5.Object, class string) error {
	m.Entry, m.Encoding = &serialize.Entry{Elements: &serialize.Elements{View: views.Of(), Type: class}}, "not read"
	return fmt.Errorf("%s: variables of class %s cannot be read: %w", o.Path, class, dtype.ErrType)
}

func reversed(shape []int) []int {
	shape = slices.Clone(shape)
	slices.Reverse(shape)
	return shape
}

// readNumbers reads an array of numbers, whose axes are stored in reverse order.
func readNumbers(m *convention.Meaning, o *hdf5.Object, class string) error {
	d, err := o.Dataset()
	if err != nil {
		return err
	}
	a, err := d.Array()
	if err != nil {
		return err
	}
	if class == "logical" {
		a = logical(a)
	}
	v, err := a.Transpose()
	if err != nil {
		return err
	}
	m.Entry, m.Reversed, m.Stored = &serialize.Entry{Array: a.With(v)}, true, d.Backing
	return nil
}

// logical returns integers as bools.
func logical(a storage.Array) storage.Array {
	return blocks.Derive(a, dtype.Bool, func(dst []byte, v views.View) error {
		elems, err := blocks.Read(a.With(v))
		if err != nil {
			return err
		}
		clear(dst)
		for i, size := 0, a.Type.Size(); i < len(dst); i++ {
			if slices.ContainsFunc(elems[i*size:(i+1)*size], func(b byte) bool { return b != 0 }) {
				dst[i] = 1
			}
		}
		return nil
	})
}

// storedShape reads a shape of at most n elements.
func storedShape(o *hdf5.Object, path string, n int) ([]int, error) {
	d, err := o.File().Dataset(path)
	if err != nil {
		return nil, err
	}
	a, err := d.Array()
	if err == nil && (a.Rank() != 1 || a.Len() > 32 || !a.Type.IsInt()) {
		err = fmt.Errorf("%s: a shape of %v%v; want a few integers: %w", path, a.Type, a.Shape, views.ErrShape)
	}
	if err != nil {
		return nil, err
	}
	sizes, err := storage.Read[int64](a)
	if err != nil {
		return nil, err
	}
	shape := make([]int, len(sizes))
	for i, size := range sizes {
		shape[i] = int(size)
	}
	if _, err := views.New(shape, n); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return shape, nil
}

// readEmpty reads an array without elements, of the shape that is stored instead.
func readEmpty(m *convention.Meaning, o *hdf5.Object, class string) error {
	shape, err := storedShape(o, o.Path, math.MaxInt/8)
	if err != nil {
		return err
	}
	v := views.Of(shape...)
	if v.Len() != 0 {
		return fmt.Errorf("%s: shape %v has elements: %w", o.Path, shape, views.ErrShape)
	}
	t, isNumber := types[class]
	switch {
	case class == "char":
		m.Entry = texts(views.Of(), func(v views.View) ([]string, error) { return make([]string, v.Len()), nil })
	case class == "cell":
		m.Entry = texts(v, func(v views.View) ([]string, error) { return nil, nil })
	case isNumber || class == "canonical empty":
		if !isNumber {
			t = dtype.Float64
		}
		m.Entry = &serialize.Entry{Array: storage.Array{Data: storage.Wrap(nil), Type: t, View: v}}
	default:
		return readUnsupported(m, o, class)
	}
	m.Encoding = "empty"
	return nil
}

// readSparse reads a sparse matrix, which is compressed by columns. One without elements has
// neither values nor rows.
func readSparse(m *convention.Meaning, o *hdf5.Object, class string) error {
	rows, err := number(o, attrSparse)
	if err != nil {
		return err
	}
	s := sparse.Matrix{Name: o.Path, Rows: int(rows), ByColumns: true, Budget: o.File().Budget()}
	stored := []*hdf5.Dataset{}
	read := func(name string, into *storage.Array) error {
		d, err := o.File().Dataset(o.Path + "/" + name)
		if err != nil {
			return err
		}
		stored = append(stored, d)
		*into, err = d.Array()
		return err
	}
	if err := read("jc", &s.Offsets); err != nil {
		return err
	}
	if s.Offsets.Rank() == 1 {
		s.Columns = s.Offsets.Shape[0] - 1
	}
	names, err := o.Names()
	switch {
	case err != nil:
		return err
	case slices.Contains(names, "data"):
		err = cmp.Or(read("data", &s.Values), read("ir", &s.Indices))
	default:
		s.Values, s.Indices = storage.From([]float64{}, 0), storage.From([]int64{}, 0)
	}
	if err != nil {
		return err
	}
	if class == "logical" {
		s.Values = logical(s.Values)
	}
	a, err := s.Array()
	if err != nil {
		return err
	}
	m.Entry = &serialize.Entry{Array: a}
	m.Encoding = fmt.Sprintf("sparse with %d stored elements", s.Values.Len())
	m.Stored = func() (total int, err error) {
		for _, d := range stored {
			n, failed := d.Backing()
			total, err = total+n, cmp.Or(err, failed)
		}
		return total, err
	}
	return nil
}

// number returns an attribute that is a count.
func number(o *hdf5.Object, name string) (int64, error) {
	a, err := o.Attribute(name)
	if err != nil {
		return 0, err
	}
	x, err := a.Array()
	if err != nil {
		return 0, err
	}
	n, err := storage.Read[int64](x)
	if err == nil && (len(n) != 1 || n[0] < 0) {
		err = fmt.Errorf("%s: attribute %s is %v; want a count: %w", o.Path, name, n, views.ErrShape)
	}
	if err != nil {
		return 0, err
	}
	return n[0], nil
}
