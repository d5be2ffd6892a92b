package matlab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/sparse"
	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// The files of Octave's save -hdf5 (libinterp/corefcn/ls-hdf5.cc): a variable is a group with the
// attribute OCTAVE_NEW_FORMAT, the dataset type, which names its type, and the dataset or group
// value. The fields of a struct and the elements of a cell, which are called _0, _1, …, are
// variables again.
func init() {
	convention.Convention{
		Name: "octave", Match: isOctave,
		Meanings: func(*hdf5.File) convention.Meanings { return octaveMeaning },
	}.Register()
}

const (
	attrOctave      = "OCTAVE_NEW_FORMAT"
	attrOctaveEmpty = "OCTAVE_EMPTY_MATRIX" // the value is the shape of an array without elements
	attrRange       = "OCTAVE_RANGE_NELEM"  // the number of elements of a range
)

// isOctave looks for a variable, in files whose superblock has version 0, as Octave writes it.
func isOctave(f *hdf5.File) bool {
	var version [1]byte
	const at = 8 // after the signature
	if _, err := f.ReadAt(version[:], at); err != nil || f.UserBlock() > 0 || version[0] != 0 {
		return false
	}
	return convention.HasMember(f, func(o *hdf5.Object) bool { return o.Kind == hdf5.KindGroup && has(o, attrOctave) })
}

func octaveMeaning(o *hdf5.Object) (m convention.Meaning, err error) {
	if o.Kind != hdf5.KindGroup || !has(o, attrOctave) {
		return m, nil
	}
	m.Hidden = func(name string) bool { return strings.HasPrefix(name, "OCTAVE_") }
	typ, err := octaveType(o)
	if err == nil {
		err = readOctave(&m, o, typ)
	}
	if err != nil && m.Entry == nil {
		m.Members, m.Entry = nil, &serialize.Entry{Elements: &serialize.Elements{View: views.Of(), Type: cmp.Or(typ, "unknown")}}
	}
	return m, err
}

// octaveType returns the name of the type of a variable.
func octaveType(o *hdf5.Object) (string, error) {
	d, err := o.File().Dataset(o.Path + "/type")
	if err != nil {
		return "", err
	}
	if !d.Type.IsString() || d.View().Len() != 1 {
		return "", fmt.Errorf("%s: the type of a variable is no text: %w", d.Path, dtype.ErrType)
	}
	list, err := d.Strings(d.View())
	return strings.Join(list, ""), err
}

// readOctave reads a variable.
func readOctave(m *convention.Meaning, o *hdf5.Object, typ string) error {
	value := o.Path + "/value"
	if has(o, attrOctaveEmpty) {
		return readOctaveEmpty(m, o, value, strings.TrimPrefix(typ, "sparse "))
	}
	switch typ {
	case "scalar struct":
		return readOctaveStruct(m, o, value)
	case "sparse matrix", "sparse bool matrix", "sparse complex matrix":
		return readOctaveSparse(m, o, value, typ)
	case "cell":
		n, err := readOctaveCell(m, o, value, '{', "", '}')
		if err == nil && n == 0 {
			m.Entry = texts(views.Of(0, 0), func(views.View) ([]string, error) { return nil, nil })
		}
		return err
	case "struct":
		return readOctaveStructs(m, o, value)
	}
	d, err := o.File().Dataset(value)
	if err != nil {
		return cmp.Or(octaveUnsupported(o, typ), err)
	}
	switch {
	case typ == "string" || typ == "sq_string":
		return readOctaveText(m, o, d)
	case typ == "range" || typ == "double_range":
		return readRange(m, d)
	case octaveClass(typ) == dtype.Invalid:
		return octaveUnsupported(o, typ)
	}
	a, err := d.Array()
	if err != nil {
		return err
	}
	if octaveClass(typ) == dtype.Bool {
		a = logical(a)
	}
	if a.View, err = a.Transpose(); err != nil {
		return err
	}
	m.Entry, m.Reversed, m.Stored = &serialize.Entry{Array: a}, true, d.Backing
	return nil
}

func octaveUnsupported(o *hdf5.Object, typ string) error {
	return fmt.Errorf("%s: variables of type %s cannot be read: %w", o.Path, typ, dtype.ErrType)
}

// octaveClass returns the element type of a variable of numbers; Invalid for others.
func octaveClass(typ string) dtype.Type {
	switch typ {
	case "matrix", "scalar", "null_matrix":
		return dtype.Float64
	case "float matrix", "float scalar":
		return dtype.Float32
	case "complex matrix", "complex scalar":
		return dtype.Complex128
	case "float complex matrix", "float complex scalar":
		return dtype.Complex64
	case "bool", "bool matrix":
		return dtype.Bool
	}
	name, kind, _ := strings.Cut(typ, " ")
	if t := types[name]; t.IsInt() && (kind == "matrix" || kind == "scalar") {
		return t
	}
	return dtype.Invalid
}

// readOctaveEmpty reads an array without elements.
func readOctaveEmpty(m *convention.Meaning, o *hdf5.Object, value, typ string) error {
	shape, err := storedShape(o, value, math.MaxInt/16)
	if err != nil {
		return err
	}
	v := views.Of(shape...)
	if v.Len() != 0 {
		return fmt.Errorf("%s: shape %v has elements: %w", o.Path, shape, views.ErrShape)
	}
	m.Encoding = "empty"
	switch t := octaveClass(typ); {
	case strings.HasSuffix(typ, "string"):
		m.Entry = texts(views.Of(), func(v views.View) ([]string, error) { return make([]string, v.Len()), nil })
	case typ == "cell":
		m.Entry = texts(v, func(views.View) ([]string, error) { return nil, nil })
	case t.Valid():
		m.Entry = &serialize.Entry{Array: storage.Array{Data: storage.Wrap(nil), Type: t, View: v}}
	default:
		return octaveUnsupported(o, typ)
	}
	return nil
}

// readOctaveText reads characters, whose rows are strings: one string if there is one row.
func readOctaveText(m *convention.Meaning, o *hdf5.Object, d *hdf5.Dataset) error {
	return readRows(m, d, func(characters storage.Array) (string, error) {
		stored, err := d.Backing()
		if err == nil {
			err = d.File().Budget().Allocate(characters.Len(), stored)
		}
		if err != nil {
			return "", err
		}
		b, err := storage.Read[int8](characters)
		return string(dtype.Bytes(b)), err
	}, func() error {
		return fmt.Errorf("%s: text of shape %v: %w", o.Path, d.Shape, views.ErrShape)
	})
}

// readOctaveStruct makes members of the fields of a struct.
func readOctaveStruct(m *convention.Meaning, o *hdf5.Object, value string) error {
	group, err := o.File().Lookup(value)
	if err != nil {
		return err
	}
	names, err := group.Names()
	m.Members = []convention.Member{} // of a struct without fields
	for _, name := range names {
		m.Members = append(m.Members, convention.Member{Name: "/" + name, Path: value + "/" + name})
	}
	return err
}

// readOctaveStructs makes members of the fields of an array of structs, which are cells.
func readOctaveStructs(m *convention.Meaning, o *hdf5.Object, value string) error {
	group, err := o.File().Lookup(value)
	if err != nil {
		return err
	}
	names, err := group.Names()
	if err != nil {
		return err
	}
	m.Members = []convention.Member{}
	for _, name := range names {
		if _, err := readOctaveCell(m, o, value+"/"+name+"/value", '(', "/"+name, ')'); err != nil {
			return err
		}
	}
	return nil
}

// readOctaveCell makes members of the elements of a cell, whose shape is stored in reverse order, and
// returns their number.
func readOctaveCell(m *convention.Meaning, o *hdf5.Object, value string, open byte, field string, end byte) (int, error) {
	const variable = 64 // bytes, at least
	shape, err := storedShape(o, value+"/dims", o.File().Size()/variable)
	if err != nil {
		return 0, err
	}
	slices.Reverse(shape)
	n := views.Of(shape...).Len()
	for i := range n {
		m.Members = append(m.Members, convention.Member{Name: subscripts(open, shape, i, end) + field, Path: value + "/_" + strconv.Itoa(i)})
	}
	return n, nil
}

// readOctaveSparse reads a sparse matrix, which is compressed by columns.
func readOctaveSparse(m *convention.Meaning, o *hdf5.Object, value, typ string) error {
	s := sparse.Matrix{Name: o.Path, ByColumns: true, Budget: o.File().Budget()}
	var stored []*hdf5.Dataset
	read := func(name string) (storage.Array, error) {
		d, err := o.File().Dataset(value + "/" + name)
		if err != nil {
			return storage.Array{}, err
		}
		stored = append(stored, d)
		a, err := d.Array()
		if err == nil {
			a.View, err = a.Reshape(a.Len())
		}
		return a, err
	}
	count := func(name string) (int, error) {
		a, err := read(name)
		if err == nil && (a.Len() != 1 || !a.Type.IsInt()) {
			err = fmt.Errorf("%s/%s: %v%v; want one integer: %w", value, name, a.Type, a.Shape, views.ErrShape)
		}
		if err != nil {
			return 0, err
		}
		n, err := storage.Read[int64](a)
		return int(append(n, 0)[0]), err
	}
	var errs [5]error
	s.Rows, errs[0] = count("nr")
	s.Columns, errs[1] = count("nc")
	s.Offsets, errs[2] = read("cidx")
	s.Indices, errs[3] = read("ridx")
	s.Values, errs[4] = read("data")
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if strings.Contains(typ, "bool") {
		s.Values = logical(s.Values)
	}
	a, err := s.Array()
	if err != nil {
		return err
	}
	m.Entry, m.Encoding = &serialize.Entry{Array: a}, fmt.Sprintf("sparse with %d stored elements", s.Values.Len())
	m.Stored = func() (total int, err error) {
		for _, d := range stored {
			n, failed := d.Backing()
			total, err = total+n, cmp.Or(err, failed)
		}
		return total, err
	}
	return nil
}

// readRange reads a range base:increment:limit, of which the file has these three numbers.
func readRange(m *convention.Meaning, d *hdf5.Dataset) error {
	n, err := number(d.Object, attrRange)
	if err != nil {
		return err
	}
	var of [3]float64
	for i, name := range []string{"base", "increment", "limit"} {
		a, err := d.Member(name)
		if err == nil && a.Len() != 1 {
			err = fmt.Errorf("%s: %v ranges; want one: %w", d.Path, a.Shape, views.ErrShape)
		}
		if err != nil {
			return err
		}
		x, err := storage.Read[float64](a)
		if err != nil {
			return err
		}
		of[i] = x[0]
	}
	const size = 8 // bytes of an element
	if err := d.File().Budget().Make(size*int(min(n, math.MaxInt/size)), 3*size); err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	elements := make([]float64, n)
	for i := range elements {
		elements[i] = of[0] + float64(float64(i)*of[1])
		if i > 0 && i == len(elements)-1 { // Octave does not let rounding pass the limit
			elements[i] = min(max(elements[i], min(of[0], of[2])), max(of[0], of[2]))
		}
	}
	m.Entry, m.Encoding = &serialize.Entry{Array: storage.From(elements, 1, int(n))}, "range"
	return nil
}
