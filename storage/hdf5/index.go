package hdf5

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// An index lists the stored chunks of a dataset, sorted by their number in the grid of
// chunks, in row-major order.
type index struct {
	grid    []int // number of chunks along each axis
	entries []chunkEntry
}

// An chunkEntry is one stored chunk.
type chunkEntry struct {
	number  int
	address uint64
	size    int
	mask    uint32 // bit k: filter k was skipped
}

// find returns the chunk of the given number, if it is stored.
func (x *index) find(number int) (chunkEntry, bool) {
	// If all chunks are stored, their numbers are their positions.
	if number < len(x.entries) && x.entries[number].number == number {
		return x.entries[number], true
	}
	k := sort.Search(len(x.entries), func(k int) bool { return x.entries[k].number >= number })
	if k < len(x.entries) && x.entries[k].number == number {
		return x.entries[k], true
	}
	return chunkEntry{}, false
}

// storedWithin reports whether any chunk between two coordinates, both included, is stored.
func (x *index) storedWithin(first, last []int) bool {
	from, to := 0, 0 // as numbers
	for axis, n := range x.grid {
		from, to = from*n+first[axis], to*n+last[axis]
	}
	at := make([]int, len(x.grid))
	k := sort.Search(len(x.entries), func(k int) bool { return x.entries[k].number >= from })
	for ; k < len(x.entries) && x.entries[k].number <= to; k++ {
		unravel(at, x.entries[k].number, x.grid)
		within := true
		for axis, i := range at {
			within = within && first[axis] <= i && i <= last[axis]
		}
		if within {
			return true
		}
	}
	return false
}

// A Chunk is a stored chunk of a dataset.
type Chunk struct {
	Coord      []int  // of its first element
	Offset     int    // in the file, from its first byte
	Size       int    // in bytes, as stored
	FilterMask uint32 // bit k: filter k was skipped
}

// StoredChunks lists the stored chunks of a chunked dataset in row-major order. Chunks
// that are missing were never written and hold the fill value.
func (d *Dataset) StoredChunks() ([]Chunk, error) {
	if d.layout.class != layoutChunked {
		return nil, d.file.fail(d.Path, fmt.Errorf("is %s, not chunked", d.Layout))
	}
	x, err := d.index()
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	chunks := make([]Chunk, len(x.entries))
	coords := make([]int, len(x.entries)*len(x.grid))
	for k, e := range x.entries {
		coord := coords[k*len(x.grid) : (k+1)*len(x.grid) : (k+1)*len(x.grid)]
		unravel(coord, e.number, x.grid)
		for axis := range coord {
			coord[axis] *= d.Chunks[axis]
		}
		chunks[k] = Chunk{coord, int(e.address) + d.file.super.at, e.size, e.mask}
	}
	return chunks, nil
}

// ReadChunk reads and decodes a stored chunk into dst, which must have the size of a
// chunk. It bypasses the cache.
func (d *Dataset) ReadChunk(dst []byte, c Chunk) error {
	e := chunkEntry{address: uint64(c.Offset - d.file.super.at), size: c.Size, mask: c.FilterMask}
	if err := d.decode(dst, e); err != nil {
		return d.file.fail(d.Path, fmt.Errorf("chunk %v: %w", c.Coord, err))
	}
	return nil
}

// CheckChunks returns an error if stored chunks overlap in the file.
func (d *Dataset) CheckChunks() error {
	x, err := d.index()
	if err == nil {
		err = checkOverlap(x.entries)
	}
	if err != nil {
		return d.file.fail(d.Path, err)
	}
	return nil
}

// checkOverlap returns an error if chunks overlap.
func checkOverlap(entries []chunkEntry) error {
	byAddress := slices.Clone(entries)
	slices.SortFunc(byAddress, func(a, b chunkEntry) int { return cmp.Compare(a.address, b.address) })
	for k := 1; k < len(byAddress); k++ {
		a, b := byAddress[k-1], byAddress[k]
		if a.size > 0 && b.size > 0 && b.address-a.address < uint64(a.size) {
			return fmt.Errorf("chunks at %d and %d overlap", a.address, b.address)
		}
	}
	return nil
}

// unravel converts a row-major number into coordinates.
func unravel(coord []int, number int, shape []int) {
	for axis := len(shape) - 1; axis > 0; axis-- {
		coord[axis] = number % shape[axis]
		number /= shape[axis]
	}
	coord[0] = number
}

// gridOf returns the number of chunks along each axis of a shape.
func gridOf(shape, chunk []int) []int {
	grid := make([]int, len(shape))
	for axis := range grid {
		grid[axis] = shape[axis] / chunk[axis]
		if shape[axis]%chunk[axis] != 0 {
			grid[axis]++
		}
	}
	return grid
}

// An indexer builds an index from one of the structures that index_*.go read.
type indexer struct {
	*index
	d         *Dataset
	chunkSize int // of a chunk without filters, in bytes
}

func (d *Dataset) readIndex() (*index, error) {
	x := &indexer{index: &index{grid: gridOf(d.Shape, d.Chunks)}, d: d}
	var err error
	if x.chunkSize, err = d.chunkSize(); err != nil {
		return nil, err
	}
	if _, err := format.Product(x.grid...); err != nil {
		return nil, fmt.Errorf("grid of chunks: %w", err)
	}
	if d.layout.address == undefined || x.chunkSize == 0 || slices.Contains(x.grid, 0) {
		return x.index, nil
	}
	readers := [...]func(*indexer) error{
		(*indexer).btree1, (*indexer).single, (*indexer).implicit, (*indexer).fixed, (*indexer).extensible, (*indexer).btree2,
	}
	if err := readers[d.layout.index.kind](x); err != nil {
		return nil, fmt.Errorf("chunk index: %w", err)
	}
	byNumber := func(a, b chunkEntry) int { return cmp.Compare(a.number, b.number) }
	if !slices.IsSortedFunc(x.entries, byNumber) {
		slices.SortFunc(x.entries, byNumber)
	}
	for k := 1; k < len(x.entries); k++ {
		if x.entries[k].number == x.entries[k-1].number {
			return nil, fmt.Errorf("chunk index: the chunks at %d and %d have the same coordinates", x.entries[k-1].address, x.entries[k].address)
		}
	}
	return x.index, nil
}

// chunkSize returns the size of a chunk without filters, in bytes.
func (d *Dataset) chunkSize() (int, error) {
	n, err := format.Product(append([]int{d.Type.Size}, d.Chunks...)...)
	if err != nil {
		return 0, fmt.Errorf("chunks of %w", err)
	}
	return n, nil
}

// add adds the chunk at a position in the grid. Positions beyond the grid are left from
// when the dataset was larger.
func (x *indexer) add(coord []int, e chunkEntry) error {
	partial := false // extends beyond the shape
	for axis, p := range coord {
		if p >= x.grid[axis] {
			return nil
		}
		e.number = e.number*x.grid[axis] + p
		partial = partial || (p+1)*x.d.Chunks[axis] > x.d.Shape[axis]
	}
	if e.address == undefined {
		return nil
	}
	if len(x.d.Filters) == 0 && e.size != x.chunkSize {
		return fmt.Errorf("chunk of %d bytes, want %d", e.size, x.chunkSize)
	}
	if partial && x.d.layout.index.unfilteredEdges {
		e.mask = 1<<len(x.d.Filters) - 1
	}
	x.entries = append(x.entries, e)
	return nil
}

// addNumbered adds chunk k of an index with row-major numbers in the grid of the maximum
// shape.
func (x *indexer) addNumbered(k int, grid []int, e chunkEntry) error {
	coord := make([]int, len(grid))
	unravel(coord, k, grid)
	return x.add(coord, e)
}

// maxGrid returns the grid of the maximum shape. Unlimited axes have their current size.
func (x *indexer) maxGrid() []int {
	shape := slices.Clone(x.d.MaxShape)
	for axis := range shape {
		shape[axis] = max(shape[axis], x.d.Shape[axis])
	}
	return gridOf(shape, x.d.Chunks)
}

// element reads an element of a fixed or extensible array:
//
//	| address (O) | (filters) stored size (the remaining bytes) | (filters) mask (4) |
func (x *indexer) element(c *cursor, size int) chunkEntry {
	e := chunkEntry{address: c.address(), size: x.chunkSize}
	if len(x.d.Filters) > 0 && size > c.offset {
		e.size, e.mask = c.count(size-c.offset-4), uint32(c.u32())
	}
	return e
}

// checkElement checks the size of an array's elements.
func (x *indexer) checkElement(c *cursor, client, size int) {
	minSize, maxSize := c.offset, c.offset
	if client == 1 {
		minSize, maxSize = c.offset+1+4, c.offset+8+4
	}
	if c.err == nil && (client > 1 || size < minSize || size > maxSize || (client == 1) != (len(x.d.Filters) > 0)) {
		c.fail("elements of type %d and %d bytes for a dataset with %d filters", client, size, len(x.d.Filters))
	}
}
