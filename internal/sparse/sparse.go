// Package sparse reads compressed sparse matrices as dense arrays, on demand.
//
// The stored elements are three arrays, as in SciPy's csr_matrix: values, the index of
// each in its row, and the offsets that divide both into rows. They stay where they are;
// a read takes memory for a few of them, and four to eight bytes for each row.
package sparse

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Matrix is a matrix that is compressed by rows (CSR) or by columns (CSC). Elements
// Offsets[i] to Offsets[i+1]-1 of Values are those of row i, and Indices their columns;
// if ByColumns is set, those of column i, and their rows. All others are 0. Several at one
// place are added.
type Matrix struct {
	Name                     string // for errors
	Rows, Columns            int
	ByColumns                bool
	Values, Indices, Offsets storage.Array
	Budget                   *storage.Budget // of memory
}

// Array returns the matrix as a dense array that is decoded on demand. The sizes of the
// stored arrays are checked at once, offsets and indices when they are read.
func (m Matrix) Array() (storage.Array, error) {
	major, minor := m.Rows, m.Columns
	if m.ByColumns {
		major, minor = minor, major
	}
	v, err := views.New([]int{m.Rows, m.Columns}, math.MaxInt/max(1, m.Values.Type.Size()))
	switch {
	case err != nil:
	case m.Values.Rank() != 1 || !slices.Equal(m.Values.Shape, m.Indices.Shape) || !m.Indices.Type.IsInt() || !m.Values.Type.Valid():
		err = fmt.Errorf("values %v%v at indices %v%v; want as many integers as values: %w", m.Values.Type, m.Values.Shape, m.Indices.Type, m.Indices.Shape, views.ErrShape)
	case m.Offsets.Rank() != 1 || m.Offsets.Shape[0] != major+1 || !m.Offsets.Type.IsInt():
		err = fmt.Errorf("offsets %v%v of a matrix of shape %v; want %d integers: %w", m.Offsets.Type, m.Offsets.Shape, v.Shape, major+1, views.ErrShape)
	}
	if err != nil {
		return storage.Array{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	c := compressedMatrix{values: m.Values, indices: m.Indices, major: major, minor: minor}
	c.offsets = sync.OnceValues(func() ([]int64, error) { return m.readOffsets(major) })
	if m.ByColumns {
		return storage.Array{Data: &byColumns{m: m, compressedMatrix: c}, Type: m.Values.Type, View: v}, nil
	}
	return storage.Array{Data: &byRows{m: m, compressedMatrix: c}, Type: m.Values.Type, View: v}, nil
}

// readOffsets reads the offsets, and checks that they ascend from 0 to the number of values.
func (m Matrix) readOffsets(major int) ([]int64, error) {
	if err := m.Budget.Allocate(8*min(major+1, math.MaxInt/8), m.Offsets.Type.Size()*(major+1)); err != nil {
		return nil, err
	}
	offsets, err := storage.Read[int64](m.Offsets)
	if err == nil && (!slices.IsSorted(offsets) || offsets[0] < 0 || offsets[major] > int64(m.Values.Shape[0])) {
		err = fmt.Errorf("offsets %d … %d into %d values; want them to ascend from 0 on: %w", offsets[0], offsets[major], m.Values.Shape[0], views.ErrShape)
	}
	return offsets, err
}

// A compressedMatrix has major rows, the compressed axis, and minor columns.
type compressedMatrix struct {
	values, indices storage.Array
	offsets         func() ([]int64, error)
	major, minor    int
	to              []int32 // columns of the array by minor index, -1 for those left out; nil: the same
}

// MapColumns returns an array of a matrix that is compressed by rows with other columns: to[k] is the place of column k among width
// of them, or -1 to leave it out. Columns that none goes to are 0. ok is false for other arrays.
func MapColumns(a storage.Array, to []int32, width int) (mapped storage.Array, ok bool) {
	r, ok := a.Data.(*byRows)
	if !ok || r.to != nil || !slices.Equal(a.Shape, r.Shape()) || a.View.Offset != 0 || !a.View.Contiguous() || len(to) != r.m.Columns {
		return a, false
	}
	copied := *r
	copied.m.Columns, copied.to = width, to
	return storage.Array{Data: &copied, Type: a.Type, View: views.Of(r.m.Rows, width)}, true
}

// partSize is how many stored elements are read at a time.
const partSize = 1 << 16

// read writes the elements that s selects to dst, whose elements have the size of values.
// Those that are not stored are 0 already.
func (c *compressedMatrix) read(dst []byte, s selection) error {
	offsets, err := c.offsets()
	if err != nil {
		return err
	}
	if s.rows.step != 1 {
		for i := range s.rows.n {
			if err := c.readRows(dst, s, offsets, i, i+1); err != nil {
				return err
			}
		}
		return nil
	}
	return c.readRows(dst, s, offsets, 0, s.rows.n)
}

// readRows is read for selected rows i to end-1, which are neighbours in the matrix.
func (c *compressedMatrix) readRows(dst []byte, s selection, offsets []int64, i, end int) error {
	row := s.rows.start + i*s.rows.step
	at, stop, size := offsets[row], offsets[row+end-i], c.values.Type.Size()
	var values []byte
	var indices []int64
	for ; at < stop; at += int64(len(indices)) {
		n := int(min(stop-at, partSize))
		values, indices = slices.Grow(values[:0], n*size)[:n*size], slices.Grow(indices[:0], n)[:n]
		err := cmp.Or(fetch(values, c.values, int(at), c.values.Type), fetch(dtype.Bytes(indices), c.indices, int(at), dtype.Int64))
		if err != nil {
			return err
		}
		for k, index := range indices {
			for at+int64(k) >= offsets[row+1] {
				row, i = row+1, i+1
			}
			if index < 0 || index >= int64(c.minor) {
				return fmt.Errorf("index %d of a stored element, of %d: %w", index, c.minor, views.ErrShape)
			}
			if c.to != nil {
				if index = int64(c.to[index]); index < 0 {
					continue
				}
			}
			if j, ok := s.columns.index(int(index)); ok {
				to := (s.at + i*s.rows.to + j*s.columns.to) * size
				add(dst[to:to+size], values[k*size:(k+1)*size], c.values.Type)
			}
		}
	}
	return nil
}

// add adds a stored element to dst, which has the elements that are stored at the same place, as
// in SciPy, or zero bytes.
func add(dst, value []byte, t dtype.Type) {
	ne := binary.NativeEndian
	switch {
	case len(dst) == 4 && ne.Uint32(dst) == 0: // as most are
		ne.PutUint32(dst, ne.Uint32(value))
	case len(dst) == 8 && ne.Uint64(dst) == 0:
		ne.PutUint64(dst, ne.Uint64(value))
	case bytes.Count(dst, []byte{0}) == len(dst):
		copy(dst, value)
	default:
		sum(dst, value, t)
	}
}

// sum adds integers, which overflow, and floats. The sum of bools is true.
func sum(dst, value []byte, t dtype.Type) {
	ne := binary.NativeEndian
	switch {
	case t == dtype.Bool:
	case t.IsInt():
		var a, b [8]byte // of the lowest bytes first
		copy(a[:], dst)
		copy(b[:], value)
		ne.PutUint64(a[:], ne.Uint64(a[:])+ne.Uint64(b[:]))
		copy(dst, a[:])
	default:
		x, y := make([]complex128, 1), make([]complex128, 1)
		dtype.Convert(dtype.Bytes(x), dtype.Complex128, dst, t)
		dtype.Convert(dtype.Bytes(y), dtype.Complex128, value, t)
		x[0] += y[0]
		dtype.Convert(dst, t, dtype.Bytes(x), dtype.Complex128)
	}
}

// fetch reads elements of a from position at on, converted to t, until dst is full.
func fetch(dst []byte, a storage.Array, at int, t dtype.Type) error {
	n := len(dst) / t.Size()
	v, err := a.View.Slice(0, at, at+n, 1)
	if err != nil {
		return err
	}
	return a.With(v).CopyTo(storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(n)})
}

// byRows is the [storage.Source] of a matrix that is compressed by rows.
type byRows struct {
	m Matrix
	compressedMatrix
}

func (r *byRows) Len() int               { return r.m.bytes() }
func (r *byRows) Device() storage.Device { return storage.File(r.m.Name) }
func (r *byRows) Shape() []int           { return []int{r.m.Rows, r.m.Columns} }

// chunksPerRead is how many chunks of values are best read together, so that few of
// them are decoded twice because a read ends inside.
const chunksPerRead = 4

// ChunkShape implements [storage.Chunked]: a number of rows whose elements are stored in a few chunks.
func (r *byRows) ChunkShape() []int {
	source, ok := r.values.Data.(storage.Chunked)
	if !ok || len(source.ChunkShape()) == 0 || r.m.Rows == 0 || r.m.Columns == 0 {
		return nil
	}
	const mostBytes = 16 << 20 // of decoded rows
	mean := max(1, r.values.Shape[0]/r.m.Rows)
	rows := min(chunksPerRead*source.ChunkShape()[0]/mean, mostBytes/(r.m.Columns*r.values.Type.Size()), r.m.Rows)
	if rows < 2 {
		return nil
	}
	return []int{rows, r.m.Columns}
}

// ReadView implements [storage.Source].
func (r *byRows) ReadView(dst []byte, t dtype.Type, v views.View) error {
	return r.m.readView(dst, t, v, r.read)
}

// byColumns is the [storage.Source] of a matrix that is compressed by columns. It is
// compressed by rows in memory when it is first read, if it is small enough. If not, each
// read goes through the selected columns.
type byColumns struct {
	m Matrix
	compressedMatrix
	once   sync.Once
	byRows *compressedMatrix // nil: too large
	err    error
}

func (c *byColumns) Len() int               { return c.m.bytes() }
func (c *byColumns) Device() storage.Device { return storage.File(c.m.Name) }

// ReadView implements [storage.Source].
func (c *byColumns) ReadView(dst []byte, t dtype.Type, v views.View) error {
	return c.m.readView(dst, t, v, func(dst []byte, s selection) error {
		if s.columns.n == c.m.Columns || s.columns.n > s.rows.n { // all columns are read for each few rows
			if c.once.Do(c.convert); c.err != nil {
				return c.err
			}
			if c.byRows != nil {
				return c.byRows.read(dst, s)
			}
		}
		s.rows, s.columns = s.columns, s.rows
		return c.read(dst, s)
	})
}

// maxConverted is how many bytes a matrix that is compressed again may take.
const maxConverted = 1 << 30

// convert compresses the matrix by rows.
func (c *byColumns) convert() {
	n, size := c.values.Shape[0], c.values.Type.Size()
	if c.m.Columns > math.MaxInt32 || n > maxConverted || c.m.Rows > maxConverted/8 {
		return
	}
	total := n*(size+4) + 8*(c.m.Rows+1)
	if total > maxConverted || c.m.Budget.Allocate(total, n*(size+c.indices.Type.Size())) != nil {
		return
	}
	c.byRows, c.err = c.compressedMatrix.transposed()
}

// transposed returns the same elements compressed along the other axis, in memory.
func (c *compressedMatrix) transposed() (*compressedMatrix, error) {
	n, size := c.values.Shape[0], c.values.Type.Size()
	offsets, err := c.offsets()
	if err != nil {
		return nil, err
	}
	rows := make([]int32, n) // of the elements, as they are stored
	starts := make([]int64, c.minor+1)
	part := make([]int64, min(n, partSize))
	for at, end := int(offsets[0]), int(offsets[c.major]); at < end; at += len(part) {
		part = part[:min(len(part), end-at)]
		if err := fetch(dtype.Bytes(part), c.indices, at, dtype.Int64); err != nil {
			return nil, err
		}
		for k, row := range part {
			if row < 0 || row >= int64(c.minor) {
				return nil, fmt.Errorf("index %d of a stored element, of %d: %w", row, c.minor, views.ErrShape)
			}
			rows[at+k] = int32(row)
			starts[row+1]++
		}
	}
	for i := range c.minor {
		starts[i+1] += starts[i]
	}
	next := slices.Clone(starts)
	stored, values, columns := make([]byte, n*size), make([]byte, n*size), make([]int32, n)
	if err := fetch(stored, c.values, 0, c.values.Type); err != nil {
		return nil, err
	}
	for column := range c.major {
		for k := offsets[column]; k < offsets[column+1]; k++ {
			to := int(next[rows[k]])
			next[rows[k]]++
			columns[to] = int32(column)
			copy(values[to*size:(to+1)*size], stored[int(k)*size:])
		}
	}
	return &compressedMatrix{
		values:  storage.Array{Data: storage.Wrap(values), Type: c.values.Type, View: views.Of(n)},
		indices: storage.From(columns, n),
		offsets: func() ([]int64, error) { return starts, nil },
		major:   c.minor, minor: c.major,
	}, nil
}

// bytes returns the number of bytes of the dense matrix.
func (m Matrix) bytes() int { return m.Rows * m.Columns * m.Values.Type.Size() }

// readView reads the selections that make up a view.
func (m Matrix) readView(dst []byte, t dtype.Type, v views.View, read func(dst []byte, s selection) error) error {
	if t != m.Values.Type || !v.Within(m.Rows*m.Columns) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v of %d × %d %v: %w", m.Name, t, v.Shape, m.Rows, m.Columns, m.Values.Type, views.ErrShape)
	}
	clear(dst[:v.Len()*t.Size()])
	if v.Len() == 0 {
		return nil
	}
	for s := range selections(v, m.Columns) {
		if err := read(dst, s); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}
