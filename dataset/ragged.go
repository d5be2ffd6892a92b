package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/sparse"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Ragged is rows of different lengths. [Ragged.Padded] makes an array of them.
type Ragged struct {
	Name         string // for errors
	Rows         int
	Type         dtype.Type
	ElementShape []int // the shape of one element of a row
	MaxLength    int   // elements in the longest row
	ChunkRows    int   // rows that are best read together; 1 if each can be read alone
	IndexBytes   int   // of memory for the offsets of rows

	// Lengths returns how many elements each row has; nil if that is not known, or
	// if all rows are MaxLength long once they are read.
	Lengths func() ([]int64, error)

	// Read writes rows first to first+n-1 to dst, each as length elements: longer
	// rows are truncated, shorter ones padded with zeros. It is safe for use by
	// several goroutines.
	Read func(dst []byte, first, n, length int) error
}

// Padded returns the rows as one array of shape rows × length × element, which
// reads and pads them on demand. A length of 0 means the length of the longest row.
func (r Ragged) Padded(length int) (storage.Array, error) {
	if length == 0 {
		length = r.MaxLength
	}
	if length < 1 || !r.Type.Valid() {
		return storage.Array{}, fmt.Errorf("dataset: %s: rows of %d %v, want at least one number: %w", r.Name, length, r.Type, views.ErrShape)
	}
	v, err := views.New(append([]int{r.Rows, length}, r.ElementShape...), math.MaxInt/r.Type.Size())
	if err != nil {
		return storage.Array{}, fmt.Errorf("dataset: %s: %w", r.Name, err)
	}
	p := &padded{Ragged: r, shape: v.Shape, length: length}
	p.row = views.Of(v.Shape[1:]...).Len()
	p.ChunkRows = max(1, min(r.ChunkRows, jointBlock/max(1, p.row*r.Type.Size())))
	return storage.Array{Data: p, Type: r.Type, View: v}, nil
}

// PaddedLengths returns how many elements of each row of Padded(length) are data.
func (r Ragged) PaddedLengths(length int) (storage.Array, error) {
	lengths, err := r.Lengths()
	if err != nil {
		return storage.Array{}, fmt.Errorf("dataset: %s: lengths: %w", r.Name, err)
	}
	for i, n := range lengths {
		if length > 0 {
			lengths[i] = min(n, int64(length))
		}
	}
	return storage.From(lengths, len(lengths)), nil
}

// padded is a Source that pads ragged rows to one length.
type padded struct {
	Ragged
	shape  []int
	length int // elements in a row
	row    int // numbers in a row
}

func (p *padded) Len() int               { return p.Rows * p.row * p.Type.Size() }
func (p *padded) Device() storage.Device { return storage.File(p.Name) }
func (p *padded) Shape() []int           { return p.shape }

// ChunkShape is the shape of ChunkRows rows, which are best read together; nil for single rows.
func (p *padded) ChunkShape() []int {
	if p.ChunkRows == 1 {
		return nil
	}
	return append([]int{p.ChunkRows}, p.shape[1:]...)
}

// ReadView reads the rows that v selects from, and gathers its elements.
func (p *padded) ReadView(dst []byte, t dtype.Type, v views.View) error {
	size := t.Size()
	if t != p.Type || !v.Within(p.Rows*p.row) || len(dst) < v.Len()*size {
		return fmt.Errorf("%s: %v%v of rows of %d %v: %w", p.Name, t, v.Shape, p.row, p.Type, views.ErrShape)
	}
	lo, hi := v.Bounds()
	if hi < lo {
		return nil
	}
	first, end := lo/p.row, hi/p.row+1
	if whole := (end - first) * p.row; v.Contiguous() && v.Len() == whole {
		return p.read(dst[:whole*size], first, end)
	}
	rows := make([]byte, (end-first)*p.row*size)
	if err := p.read(rows, first, end); err != nil {
		return err
	}
	v.Offset -= first * p.row
	storage.Gather(dst, rows, t, v)
	return nil
}

func (p *padded) read(dst []byte, first, end int) error {
	if err := p.Read(dst, first, end-first, p.length); err != nil {
		return fmt.Errorf("%s: rows %d to %d: %w", p.Name, first, end-1, err)
	}
	return nil
}

// Offsets returns the rows into which offsets divide values: row i is values
// offsets[i] to offsets[i+1]-1, as with the indptr of SciPy.
func Offsets(name string, values, offsets storage.Array) (Ragged, error) {
	o, err := readOffsets(name, values, offsets)
	if err != nil {
		return Ragged{}, err
	}
	r := o.ragged(name, values)
	r.Read = func(dst []byte, first, n, length int) error { return o.read(dst, values, first, n, length) }
	r.Lengths = func() ([]int64, error) {
		lengths := make([]int64, r.Rows)
		for i := range lengths {
			lengths[i] = int64(o.len(i))
		}
		return lengths, nil
	}
	return r, nil
}

// Sparse returns the rows of a compressed sparse matrix (CSR), which [Ragged.Padded]
// makes dense: element columns[k] of row i is values[k], for k from offsets[i]
// to offsets[i+1]-1, and every other 0. Several values at one place are added, as in SciPy.
// A width of 0 follows from the largest column.
func Sparse(name string, values, columns, offsets storage.Array, width int) (Ragged, error) {
	if offsets.Rank() != 1 || offsets.Shape[0] == 0 || columns.Rank() != 1 || !columns.Type.IsInt() {
		return Ragged{}, fmt.Errorf("dataset: %s: columns of %v, offsets of shape %v; want integers, and one offset more than there are rows: %w", name, columns.Type, offsets.Shape, views.ErrShape)
	}
	if width == 0 {
		var err error
		if width, err = Width(columns); err != nil {
			return Ragged{}, fmt.Errorf("dataset: %s: columns: %w", name, err)
		}
	}
	rows := offsets.Shape[0] - 1
	dense, err := sparse.Matrix{Name: name, Rows: rows, Columns: width, Values: values, Indices: columns, Offsets: offsets}.Array()
	if err != nil {
		return Ragged{}, fmt.Errorf("dataset: %w", err)
	}
	r := Ragged{Name: name, Rows: rows, Type: values.Type, MaxLength: width, ChunkRows: 1, IndexBytes: 8 * (rows + 1)}
	if chunk := dense.Data.(storage.Chunked).ChunkShape(); chunk != nil {
		r.ChunkRows = chunk[0]
	}
	r.Read = func(dst []byte, first, n, length int) error {
		if length != width {
			return fmt.Errorf("rows of %d columns read as %d: %w", width, length, views.ErrShape)
		}
		return fetch(dst, dense, first, n)
	}
	return r, nil
}

// Width returns how many columns a sparse matrix has at least, with values in the given columns.
func Width(columns storage.Array) (width int, err error) {
	err = forEachPart(columns, func(part []int64, _ int) error {
		width = max(width, int(slices.Max(part))+1)
		return nil
	})
	return width, err
}

// Compact copies the elements of padded rows to dst, without their padding: the first n of row k, where n is
// lengths[k], and each has size bytes. It returns their number.
func Compact(dst, rows []byte, lengths []int64, size int) (total int) {
	if len(lengths) == 0 {
		return 0
	}
	row := len(rows) / len(lengths)
	for k, n := range lengths {
		copy(dst[total*size:], rows[k*row:][:int(n)*size])
		total += int(n)
	}
	return total
}
