package dataconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// How columns of strings and categories become numbers.
const (
	oneHot   = "one_hot" // a column for each category, 1 where a row has it
	codes    = "codes"   // the number of the category
	asStored = "values"  // the integers in the file, of enums and categories
)

// Encodings are one_hot, codes or values, for all inputs or by name.
type Encodings struct{ Paths }

// categories is the kind of names that columns of inputs have.
const categories = "categories"

// maxOneHot is the largest number of categories that are encoded as columns.
const maxOneHot = 1024

// joinedBytes is the size up to which joined columns are kept in memory. Tests change it.
var joinedBytes = 64 << 20

// encoding returns how the categories of an input become numbers.
func (c Config) encoding(input string) string { return cmp.Or(c.Categorical.of(input), oneHot) }

// checkCategories returns the first setting of categories that cannot be.
func (c Config) checkCategories() error {
	for _, p := range c.Categorical.Paths {
		if !slices.Contains([]string{oneHot, codes, asStored}, p.Path) {
			return wrong("no encoding %q; want %s, %s or %s", p.Path, oneHot, codes, asStored, "categorical")
		}
	}
	var known []string
	for _, x := range c.X {
		known = append(known, x.columns()...)
	}
	for _, path := range sortedKeys(c.Categories) {
		if !slices.Contains(known, path) {
			return config.At(config.Unknown("column of x", path, known), "categories", path)
		}
	}
	return nil
}

// SetX replaces the inputs. Their columns keep the categories of those in the same places.
func (c *Config) SetX(x Paths) {
	kept := Categories{}
	for i, n := range x {
		if i >= len(c.X) {
			break
		}
		old := c.X[i].columns()
		for j, path := range n.columns() {
			if j < len(old) && c.Categories[old[j]] != nil {
				kept[path] = c.Categories[old[j]]
			}
		}
	}
	if c.X = x; len(c.Categories) > 0 {
		c.Categories = kept
	}
}

// openColumns adds an input of one or several columns, which encode joins.
func (c Config) openColumns(p *part, name string, paths []string, found []Found) error {
	in := field{path: strings.Join(paths, ",")}
	in.NamedArray = dataset.NamedArray{Name: name, From: originOf(p.file, in.path)}
	for i, f := range found {
		col := field{NamedArray: dataset.NamedArray{Name: paths[i], Array: f.Array}, path: paths[i]}
		var err error
		switch {
		case f.Ragged != nil:
			err = fmt.Errorf("%s: %s holds rows of different lengths, which are an input of their own: %w", p.file, paths[i], views.ErrShape)
		case f.Texts != nil && c.encoding(name) == asStored:
			err = fmt.Errorf("%s: %s holds strings; categorical: %s takes integers: %w", p.file, paths[i], asStored, dtype.ErrType)
		case f.Texts != nil:
			err = col.readTexts(f)
		case f.Names != nil && c.encoding(name) != asStored:
			col.labels = &f
		}
		if err == nil && (col.Array.Rank() == 0 || i > 0 && col.Array.Shape[0] != in.columns[0].Array.Shape[0]) {
			err = fmt.Errorf("%s: %s is %v and %s is %v; want the same number of samples along the first axis: %w", p.file, paths[0], in.columns[0].Array.Shape, paths[i], col.Array.Shape, views.ErrShape)
		}
		if err != nil {
			return err
		}
		in.columns = append(in.columns, col)
	}
	in.Array = in.columns[0].Array
	p.fields = append(p.fields, in)
	return nil
}

// encode makes arrays of the inputs of parts that have columns, and returns the categories
// of their columns: those of c, or those in the data. Strings are sorted, and categories of
// a file keep their order.
func (c Config) encode(parts []*part) (Categories, error) {
	all := Categories{}
	for i, input := range c.X.names("x") {
		for j, path := range c.X[i].columns() {
			names, err := c.encodeColumn(parts, input, j, path)
			if err != nil {
				return nil, err
			}
			if names != nil {
				all[path] = names
			}
		}
	}
	total := 0
	for _, p := range parts {
		for i := range p.fields {
			f := &p.fields[i]
			if len(f.columns) == 0 {
				continue
			}
			if err := f.join(c.encoding(f.Name), func(col field) int { return len(all[c.key(f.Name, f.columns, col)]) }); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name(), err)
			}
			total += f.Array.Len() * f.Array.Type.Size()
		}
	}
	return all, holdJoined(parts, total)
}

// key returns the path in c of a column of an input.
func (c Config) key(input string, columns []field, col field) string {
	i := slices.Index(c.X.names("x"), input)
	j := slices.IndexFunc(columns, func(f field) bool { return f.path == col.path })
	return c.X[i].columns()[j]
}

// encodeColumn makes the elements of column j of an input numbers of categories, and returns
// these; nil if it has numbers. Numbers are categories, too, where c names them.
func (c Config) encodeColumn(parts []*part, input string, j int, path string) ([]string, error) {
	names, given := c.Categories[path]
	var named []field
	for _, p := range parts {
		for _, f := range p.fields {
			if f.Name != input || f.Role != dataset.Input || j >= len(f.columns) {
				continue
			}
			col := &f.columns[j]
			if given && col.labels == nil {
				col.labels = &Found{Texts: Found{Array: col.Array}.words}
			}
			if col.labels != nil {
				named = append(named, *col)
			}
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	if !given {
		var err error
		if names, err = collectNames(named); err != nil {
			return nil, err
		}
	}
	if c.encoding(input) == oneHot && len(names) > maxOneHot {
		return nil, fmt.Errorf("%s holds %d different values, and a one-hot encoding has a column for each; choose another column, or categorical: codes: %w", path, len(names), views.ErrShape)
	}
	code := newCoding(categories, names, c.Unknown)
	var numbered []*field
	for _, p := range parts {
		for i, f := range p.fields {
			if f.Name != input || f.Role != dataset.Input || j >= len(f.columns) || f.columns[j].labels == nil {
				continue
			}
			if err := p.number(&p.fields[i].columns[j], code); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", p.file, f.columns[j].path, err)
			}
			numbered = append(numbered, &p.fields[i].columns[j])
		}
	}
	return names, widen(numbered)
}

// A joint is a column of joined ones.
type joint struct {
	array storage.Array
	width int  // along the last axis
	hot   bool // the array holds the places of ones
}

// join makes the array of f of its columns, along the last axis. categories returns the
// number of categories of a column.
func (f *field) join(encoding string, categories func(col field) int) error {
	f.fixed, f.From.Columns = nil, nil
	var joints []joint
	t := dtype.Bool
	var shape []int
	width, wide := 0, false
	for _, col := range f.columns {
		one := joint{array: col.Array, hot: col.labels != nil && encoding == oneHot}
		own := slices.Clone(col.Array.Shape)
		switch {
		case one.hot:
			one.width = categories(col)
			own = append(own, one.width)
		case len(own) == 1:
			one.width = 1
			own = append(own, 1)
		default:
			one.width = own[len(own)-1]
		}
		if shape == nil {
			shape = own
		} else if !slices.Equal(shape[:len(shape)-1], own[:len(own)-1]) {
			return fmt.Errorf("%s is %v and %s is %v; columns are concatenated along the last axis, and must have the same shape before it: %w", f.columns[0].path, f.columns[0].Array.Shape, col.path, col.Array.Shape, views.ErrShape)
		}
		elements := col.Array.Type
		if one.hot {
			elements = dtype.Float32
		}
		wide = wide || elements.IsInt() && elements.Size() > dtype.Int16.Size()
		var err error
		if t, err = dtype.Promote(t, elements); err != nil {
			return fmt.Errorf("%s: %w", col.path, err)
		}
		for k := range one.width {
			f.fixed = append(f.fixed, col.labels != nil)
			f.From.Columns = append(f.From.Columns, columnName(col, k, one.width))
		}
		joints, width = append(joints, one), width+one.width
	}
	if len(joints) == 1 && !joints[0].hot { // codes alone
		f.Array = joints[0].array
		return nil
	}
	shape[len(shape)-1] = width
	switch {
	case t.IsFloat() && wide:
		t = dtype.Float64
	case t.IsFloat() && t != dtype.Float64:
		t = dtype.Float32
	case t == dtype.Bool || t.IsInt() && t.Size() < 8:
		t = dtype.Int64
	}
	var err error
	f.Array, err = joined(f.path, joints, t, shape)
	return err
}

// columnName names element k of a column for messages.
func columnName(col field, k, width int) string {
	if width == 1 {
		return col.path
	}
	return fmt.Sprintf("%s %d", col.path, k)
}

// joined returns joints of that shape together, read and converted on demand.
func joined(name string, joints []joint, t dtype.Type, shape []int) (storage.Array, error) {
	rows := dataset.Ragged{Name: name, Rows: shape[0], Type: t, MaxLength: shape[1], ElementShape: shape[2:], ChunkRows: 1 << 10}
	for _, j := range joints {
		if chunks, ok := j.array.Data.(storage.Chunked); ok && len(chunks.ChunkShape()) > 0 {
			rows.ChunkRows = max(rows.ChunkRows, chunks.ChunkShape()[0])
		}
	}
	rows.Read = func(dst []byte, first, n, _ int) error {
		to := storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(append([]int{n}, shape[1:]...)...)}
		at := 0
		for _, j := range joints {
			if err := j.copyRows(to.With(to.View.Narrow(to.Rank()-1, at, at+j.width)), first, n); err != nil {
				return err
			}
			at += j.width
		}
		return nil
	}
	return rows.Padded(0)
}

// copyRows writes n rows to dst.
func (j joint) copyRows(dst storage.Array, first, n int) (err error) {
	rows := j.array.With(j.array.View.Narrow(0, first, first+n))
	if j.hot {
		places, err := storage.Read[int64](rows)
		if err != nil {
			return err
		}
		ones := make([]uint8, len(places)*j.width)
		for k, place := range places {
			if place >= 0 && place < int64(j.width) {
				ones[k*j.width+int(place)] = 1
			}
		}
		return storage.From(ones, dst.Shape...).CopyTo(dst)
	}
	if rows.Rank() < dst.Rank() {
		if rows.View, err = rows.View.Unsqueeze(rows.Rank()); err != nil {
			return err
		}
	}
	return rows.CopyTo(dst)
}

// holdJoined reads the joined columns of parts into memory if their total size in bytes is small.
func holdJoined(parts []*part, total int) (err error) {
	if total > joinedBytes {
		return nil
	}
	for _, p := range parts {
		for i := range p.fields {
			if f := &p.fields[i]; len(f.columns) > 0 {
				if f.Array, err = f.Array.To(storage.CPU); err != nil {
					return fmt.Errorf("%s: %w", p.name(), err)
				}
			}
		}
	}
	return nil
}
