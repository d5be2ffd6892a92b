package hdf5write

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sort"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
)

// A Reorder says in which order the rows of a dataset are copied, and what else depends on it.
type Reorder struct {
	Rows    *RowOrder // nil: as in the original
	Columns *RowOrder // of the second axis; nil: as in the original
	Numbers *RowOrder // unless nil, elements are numbers of rows, and become the numbers of the same rows in the copy

	// Offsets, unless nil, divide a dataset of one axis into rows: elements Offsets[k] to Offsets[k+1]-1 are row k.
	// IsOffsets says that the dataset is these offsets.
	Offsets   []int64
	IsOffsets bool

	Attr Attr // that the copy gets, unless its name is empty
}

// A RowOrder is a permutation of rows.
type RowOrder struct {
	rows  []int // of the original, in the order of the copy
	place []int // in the copy, by row of the original
}

// NewRowOrder returns the order in which row i of a copy is row rows[i] of the original.
func NewRowOrder(rows []int) (*RowOrder, error) {
	o := &RowOrder{rows, slices.Repeat([]int{-1}, len(rows))}
	for i, row := range rows {
		if row < 0 || row >= len(rows) || o.place[row] >= 0 {
			return nil, fmt.Errorf("an order of %d rows with row %d at %d; want each row once", len(rows), row, i)
		}
		o.place[row] = i
	}
	return o, nil
}

// check returns an error if the rows of a dataset cannot be reordered so.
func (o *Reorder) check(d *hdf5.Dataset) error {
	rank, integers := len(d.Shape), d.Type.Class == hdf5.ClassInteger && d.Type.Precision == 8*d.Type.Size
	switch {
	case o.Offsets != nil && rank != 1:
		return fmt.Errorf("shape %v; want one axis, which offsets divide into rows", d.Shape)
	case o.IsOffsets && (d.Shape[0] != len(o.Offsets) || !integers):
		return fmt.Errorf("%d %v offsets; want %d integers", d.Shape[0], d.Type, len(o.Offsets))
	case o.IsOffsets && (o.Offsets[0] != 0 || !slices.IsSorted(o.Offsets)):
		return errors.New("offsets do not ascend from 0 on")
	case o.Offsets != nil && len(o.Offsets) != len(o.Rows.rows)+1:
		return fmt.Errorf("%d offsets of %d rows; want one more", len(o.Offsets), len(o.Rows.rows))
	case o.Offsets != nil && !o.IsOffsets && o.Offsets[len(o.Offsets)-1] != int64(d.Shape[0]):
		return fmt.Errorf("offsets end at %d of %d elements", o.Offsets[len(o.Offsets)-1], d.Shape[0])
	case o.Rows != nil && o.Offsets == nil && (rank == 0 || d.Shape[0] != len(o.Rows.rows)):
		return fmt.Errorf("shape %v; want %d rows", d.Shape, len(o.Rows.rows))
	case o.Columns != nil && (rank < 2 || d.Shape[1] != len(o.Columns.rows)):
		return fmt.Errorf("shape %v; want %d columns", d.Shape, len(o.Columns.rows))
	case o.Numbers != nil && !integers:
		return fmt.Errorf("%v elements; want integers, the numbers of rows", d.Type)
	}
	return nil
}

// A rowTable is the rows of a dataset.
type rowTable struct {
	*hdf5.Dataset
	n      int
	size   func(row int) int // in bytes
	ragged bool              // rows are divided by offsets
}

// rows returns the rows of d.
func (o *Reorder) rows(d *hdf5.Dataset) rowTable {
	if o.Offsets != nil && !o.IsOffsets {
		return rowTable{d, len(o.Rows.rows), func(row int) int { return int(o.Offsets[row+1]-o.Offsets[row]) * d.Type.Size }, true}
	}
	if len(d.Shape) == 0 {
		return rowTable{d, 1, func(int) int { return d.Type.Size }, false}
	}
	bytes, _ := format.Product(append([]int{d.Type.Size}, d.Shape[1:]...)...) // checked when the dataset was opened
	return rowTable{d, d.Shape[0], func(int) int { return bytes }, false}
}

// slab returns a number of rows, whose elements begin at a number of bytes.
func (t rowTable) slab(row, rows, at, bytes int) hyperslab {
	if t.ragged {
		return hyperslab{[]int{at / t.Type.Size}, []int{bytes / t.Type.Size}}
	}
	b := hyperslab{make([]int, len(t.Shape)), slices.Clone(t.Shape)}
	if len(t.Shape) > 0 {
		b.start[0], b.count[0] = row, rows
	}
	return b
}

// original and place return the row of the original at a place of the copy, and the place of a row.
func (o *Reorder) original(place int) int {
	if o.Rows == nil || o.IsOffsets {
		return place
	}
	return o.Rows.rows[place]
}

func (o *Reorder) place(row int) int {
	if o.Rows == nil || o.IsOffsets {
		return row
	}
	return o.Rows.place[row]
}

// change makes a row of the original the row of the copy: columns move, and numbers of rows become the numbers in the copy. Scratch has room for a row.
func (o *Reorder) change(d *hdf5.Dataset, row, scratch []byte) error {
	if o.Columns != nil {
		n := len(row) / len(o.Columns.rows)
		for to, from := range o.Columns.rows {
			copy(scratch[to*n:(to+1)*n], row[from*n:])
		}
		copy(row, scratch[:len(row)])
	}
	for at := 0; o.Numbers != nil && at < len(row); at += d.Type.Size {
		element := row[at : at+d.Type.Size]
		number := integer(d.Type, element)
		if number < 0 || number >= int64(len(o.Numbers.place)) {
			return fmt.Errorf("%d is the number of a row, of %d", number, len(o.Numbers.place))
		}
		putInteger(d.Type, element, int64(o.Numbers.place[number]))
	}
	return nil
}

// integer returns an integer of a file.
func integer(t *hdf5.Type, b []byte) int64 {
	var wide [8]byte
	copy(wide[:], b)
	if t.BigEndian {
		slices.Reverse(wide[:len(b)])
	}
	n := binary.LittleEndian.Uint64(wide[:])
	if shift := 64 - 8*len(b); t.Signed {
		return int64(n<<shift) >> shift
	}
	return int64(n) // beyond 2^63, negative
}

// putInteger writes an integer of a file.
func putInteger(t *hdf5.Type, b []byte, n int64) {
	var wide [8]byte
	binary.LittleEndian.PutUint64(wide[:], uint64(n))
	copy(b, wide[:])
	if t.BigEndian {
		slices.Reverse(b)
	}
}

// reorder copies the elements of a dataset with its rows in another order. Rows are read once, in the order in which they are
// stored, and gathered by buckets of neighbours in the copy, each of which fits into memory: in a temporary file if there are several.
func (r *repacker) reorder(t *target) error {
	write, flush, err := r.sink(t)
	if err != nil {
		return err
	}
	if err := checkBudget(t.Dataset, slices.Repeat([]int{1}, len(t.Shape)), r.budget(t.Dataset), nil); err != nil {
		return err
	}
	if t.reorder.Rows == nil {
		err = r.changeInPlace(t, write)
	} else {
		err = r.gather(t, write)
	}
	return errors.Join(err, flush())
}

// changeInPlace copies rows that keep their places.
func (r *repacker) changeInPlace(t *target, write func(b hyperslab, elems []byte) error) error {
	rows := t.reorder.rows(t.Dataset)
	return r.rowBlocks(rows, func(first, n int, b hyperslab, data []byte) error {
		for k := range n {
			row := data[k*rows.size(0) : (k+1)*rows.size(0)]
			if err := t.reorder.change(t.Dataset, row, nil); err != nil {
				return err
			}
			if err := t.sum.add(t.Dataset, first+k, row); err != nil {
				return err
			}
		}
		return write(b, data)
	})
}

// gather copies rows to other places.
func (r *repacker) gather(t *target, write func(b hyperslab, elems []byte) error) error {
	g, err := r.newGathering(t)
	if err != nil {
		return err
	}
	defer g.close()
	if t.reorder.IsOffsets {
		err = g.addOffsets()
	} else {
		err = r.rowBlocks(g.rowTable, func(first, n int, _ hyperslab, data []byte) error {
			for row := first; row < first+n; row++ {
				if err := g.add(row, data[:g.size(row)]); err != nil {
					return err
				}
				data = data[g.size(row):]
			}
			return nil
		})
	}
	for k := 0; k < len(g.buckets) && err == nil; k++ {
		err = g.writeBucket(&g.buckets[k], write)
	}
	return err
}

// rowBlocks reads the rows of a dataset in order, in blocks of whole rows. use may change the elements.
func (r *repacker) rowBlocks(t rowTable, use func(first, n int, b hyperslab, data []byte) error) error {
	limit, unit, at := r.budget(t.Dataset)*t.Type.Size, 1, 0
	if t.Chunks != nil && !t.ragged {
		unit = t.Chunks[0]
	}
	var buf []byte
	for first, end := 0, 0; first < t.n; first = end {
		bytes := 0
		for ; end < t.n && (end == first || bytes+t.size(end) <= limit); end++ {
			bytes += t.size(end)
		}
		if whole := end - end%unit; unit > 1 && whole > first && end < t.n {
			end, bytes = whole, (whole-first)*t.size(first)
		}
		if bytes > r.o.Memory/2 {
			return fmt.Errorf("row %d takes %d bytes, more than half of the memory limit of %d bytes; raise the limit", first, bytes, r.o.Memory)
		}
		b := t.slab(first, end-first, at, bytes)
		var err error
		if buf, err = r.read(t.Dataset, b, buf); err != nil {
			return err
		}
		if err := use(first, end-first, b, buf); err != nil {
			return err
		}
		at += bytes
		r.o.Progress(t.Path, bytes)
	}
	return nil
}

// A gathering is the rows of a dataset, by buckets.
type gathering struct {
	rowTable // of the original
	o        *Reorder
	sum      *rowSum
	buckets  []bucket
	buffer   int              // bytes of rows that a bucket has in memory, at most
	spare    []byte           // room for a row
	scratch  *atomicfile.File // nil if there is one bucket
}

// A bucket is rows that are neighbours in the copy.
type bucket struct {
	first, rows int   // places in the copy
	at, bytes   int64 // in the copy, and in the temporary file
	written     int64 // to that
	rest        []byte
}

// mostBuffered is how many bytes of a bucket are written at once, at most.
const mostBuffered = 256 << 10

// bucketRow is the memory of each row of a bucket beside its elements.
const bucketRow = 16

func (r *repacker) newGathering(t *target) (*gathering, error) {
	g := &gathering{rowTable: t.reorder.rows(t.Dataset), o: t.reorder, sum: t.sum}
	unit := 1 // rows of the copy that are written together
	if t.layout.Chunks != nil && !g.ragged {
		unit = t.layout.Chunks[0]
	}
	limit := int64(r.budget(t.Dataset) * t.Type.Size)
	b, longest := bucket{}, 0
	for place := range g.n {
		n := g.size(g.o.original(place))
		full := b.bytes+int64(n+bucketRow*b.rows) > limit
		if full && b.rows > 0 && (b.rows%unit == 0 || int64(unit)*int64(n+bucketRow) > limit) {
			g.buckets = append(g.buckets, b)
			b = bucket{first: place, at: b.at + b.bytes}
		}
		b.rows, b.bytes, longest = b.rows+1, b.bytes+int64(n), max(longest, n)
	}
	g.buckets = append(g.buckets, b)
	g.spare, g.buffer = make([]byte, longest), math.MaxInt
	if len(g.buckets) == 1 {
		return g, nil
	}
	g.buffer = max(1, min(mostBuffered, r.o.Memory/8/len(g.buckets)))
	var err error
	if g.scratch, err = atomicfile.Create(r.w.Name(), atomicfile.Options{NoSync: true}); err == nil {
		err = g.scratch.CheckSpace(b.at + b.bytes)
	}
	return g, err
}

// close removes the temporary file.
func (g *gathering) close() {
	if g.scratch != nil {
		g.scratch.Discard()
	}
}

// addOffsets adds the offsets of the copy.
func (g *gathering) addOffsets() error {
	at, element := int64(0), make([]byte, g.Type.Size)
	for place := range g.n {
		if putInteger(g.Type, element, at); integer(g.Type, element) != at {
			return fmt.Errorf("offset %d does not fit %v", at, g.Type)
		}
		if err := g.add(place, element); err != nil {
			return err
		}
		if place < len(g.o.Rows.rows) {
			row := g.o.Rows.rows[place]
			at += g.o.Offsets[row+1] - g.o.Offsets[row]
		}
	}
	return nil
}

// add adds a row of the original, which follows on the row before. It changes data.
func (g *gathering) add(row int, data []byte) error {
	if err := g.o.change(g.Dataset, data, g.spare); err != nil {
		return err
	}
	place := g.o.place(row)
	if err := g.sum.add(g.Dataset, place, data); err != nil {
		return err
	}
	b := &g.buckets[sort.Search(len(g.buckets), func(k int) bool { return g.buckets[k].first > place })-1]
	b.rest = append(b.rest, data...)
	if len(b.rest) < g.buffer {
		return nil
	}
	return g.spill(b)
}

// spill writes the rows that a bucket has in memory to the temporary file.
func (g *gathering) spill(b *bucket) error {
	_, err := g.scratch.WriteAt(b.rest, b.at+b.written)
	b.written += int64(len(b.rest))
	b.rest = b.rest[:0]
	return err
}

// writeBucket writes the rows of a bucket, which it has in the order of the original.
func (g *gathering) writeBucket(b *bucket, write func(b hyperslab, elems []byte) error) error {
	data := b.rest
	if g.scratch != nil {
		if err := g.spill(b); err != nil {
			return err
		}
		data = scratch.Get(int(b.bytes))
		defer scratch.Put(data)
		if _, err := g.scratch.ReadAt(data, b.at); err != nil {
			return err
		}
	}
	rows, starts := make([]int, b.rows), make([]int, b.rows+1) // starts are bytes of places
	for k := range rows {
		rows[k] = g.o.original(b.first + k)
		starts[k+1] = starts[k] + g.size(rows[k])
	}
	slices.Sort(rows)
	sorted := scratch.Get(int(b.bytes))
	defer scratch.Put(sorted)
	for _, row := range rows {
		n := copy(sorted[starts[g.o.place(row)-b.first]:], data[:g.size(row)])
		data = data[n:]
	}
	b.rest = nil
	return write(g.slab(b.first, b.rows, int(b.at), int(b.bytes)), sorted)
}

// A rowSum is a sum over the rows of a dataset and their places. A copy has the same one if each row is at its place.
type rowSum struct {
	seed  maphash.Seed
	total uint64
}

// add adds a row. References do not count, because addresses in the copy are different.
func (s *rowSum) add(d *hdf5.Dataset, place int, row []byte) error {
	if hasPointers(d.Type) {
		image := &memoryImage{f: d.File()}
		if err := image.elements(d.Type, row, len(row)/d.Type.Size); err != nil {
			return err
		}
		row = image.out
	}
	x := (maphash.Bytes(s.seed, row) ^ uint64(place)*0xd1342543de82ef95) * 0x9e3779b97f4a7c15 // as in SplitMix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	s.total += x ^ x>>27
	return nil
}

// compareReordered compares the rows of a copy with the sum of the original's.
func (r *repacker) compareReordered(c copied, made *hdf5.Dataset) error {
	sum, rows := rowSum{seed: c.sum.seed}, c.reorder.rows(made)
	size := rows.size
	rows.size = func(place int) int { return size(c.reorder.original(place)) }
	err := r.rowBlocks(rows, func(first, n int, _ hyperslab, data []byte) error {
		for place := first; place < first+n; place++ {
			if err := sum.add(made, place, data[:rows.size(place)]); err != nil {
				return err
			}
			data = data[rows.size(place):]
		}
		return nil
	})
	if err == nil && sum.total != c.sum.total {
		err = errDiffers
	}
	return err
}
