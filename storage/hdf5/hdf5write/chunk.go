package hdf5write

import (
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// A partialChunk is a chunk that is being filled.
type partialChunk struct {
	start    []int
	data     []byte // decoded
	filled   int    // elements written so far
	complete bool
	stored   []byte // encoded
	mask     uint32

	oldBytes int // of the stored chunk that it replaces; 0 if that was not read
	oldMask  uint32
}

// A lastChunk is the chunk that was stored last, whose mask libhdf5 1.10.8 reads as 0.
type lastChunk struct {
	key  string
	mask uint32
}

// maxPartialBytes limits the memory of partial chunks. Beyond it they are written
// incomplete, and read again when more of their elements are written. Tests change it.
var maxPartialBytes = 64 << 20

// writeChunks copies a to the chunks it overlaps, in blocks of whole chunks.
func (d *DatasetWriter) writeChunks(start []int, a storage.Array) error {
	unit := d.layout.Chunks
	skip := make([]int, len(start)) // elements of the first chunk before start
	shape := make([]int, len(start))
	for axis := range start {
		skip[axis] = start[axis] % unit[axis]
		shape[axis] = skip[axis] + a.Shape[axis]
	}
	for b := range hyperslabs(shape, unit, blockBytes/d.size) {
		from, count := make([]int, len(start)), make([]int, len(start))
		for axis := range from { // the part of a in the block
			from[axis] = max(0, b.start[axis]-skip[axis])
			count[axis] = b.start[axis] + b.count[axis] - skip[axis] - from[axis]
		}
		part, err := a.With(subview(a.View, from, count)).To(storage.CPU)
		if err != nil {
			return err
		}
		for axis := range from {
			from[axis] += start[axis]
		}
		if err := d.writeBlock(from, part.Data.(storage.Host).Bytes(), part.View); err != nil {
			return err
		}
	}
	return nil
}

func (d *DatasetWriter) chunkBytes() int {
	n := d.size
	for _, size := range d.layout.Chunks {
		n *= size
	}
	return n
}

// writeBlock copies the elements that v selects, which begin at from, to the chunks they
// overlap. Chunks are filled and encoded in parallel; complete ones are stored in order.
func (d *DatasetWriter) writeBlock(from []int, elems []byte, v views.View) error {
	chunks := d.overlapping(from, v.Shape)
	err := each(chunks, func(c *partialChunk) error {
		if err := d.fill(c, from, elems, v); err != nil || !c.complete {
			return err
		}
		return d.encode(c)
	})
	if err == nil {
		err = d.store(chunks)
	}
	if err == nil && len(d.partial)*d.chunkBytes() > maxPartialBytes {
		err = d.flush()
	}
	return err
}

// each calls f for all items, in parallel, until one fails.
func each[T any](items []T, f func(T) error) error {
	return parallel.Do(len(items), min(len(items), runtime.GOMAXPROCS(0)), func(k int) error { return f(items[k]) })
}

// overlapping returns the chunks that contain elements of a hyperslab.
func (d *DatasetWriter) overlapping(from, shape []int) []*partialChunk {
	var chunks []*partialChunk
	unit := d.layout.Chunks
	first, extent := make([]int, len(from)), make([]int, len(from))
	for axis, at := range from {
		first[axis] = at - at%unit[axis]
		extent[axis] = at + shape[axis] - first[axis]
	}
	for at := make([]int, len(from)); ; {
		start := make([]int, len(from))
		for axis := range start {
			start[axis] = first[axis] + at[axis]
		}
		c := d.partial[key(start)]
		if c == nil {
			c = &partialChunk{start: start}
		}
		chunks = append(chunks, c)
		if !next(at, extent, unit) {
			return chunks
		}
	}
}

func key(start []int) string {
	var k []byte
	for _, at := range start {
		k = binary.AppendUvarint(k, uint64(at))
	}
	return string(k)
}

// fill copies to c the elements that v selects, which begin at from, where they lie in c.
func (d *DatasetWriter) fill(c *partialChunk, from []int, elems []byte, v views.View) error {
	unit := d.layout.Chunks
	inChunk, inArray, count := make([]int, len(from)), make([]int, len(from)), make([]int, len(from))
	for axis := range from {
		lo, hi := max(c.start[axis], from[axis]), min(c.start[axis]+unit[axis], from[axis]+v.Shape[axis])
		inChunk[axis], inArray[axis], count[axis] = lo-c.start[axis], lo-from[axis], hi-lo
	}
	part := subview(v, inArray, count)
	c.filled += part.Len()
	c.complete = c.filled >= d.capacity(c)
	if c.data == nil {
		if err := d.begin(c, part.Len()); err != nil {
			return err
		}
	}
	to := subview(views.Of(unit...), inChunk, count)
	storage.CopyStrided(c.data, storage.InBytes(to, d.size), elems, storage.InBytes(part, d.size), d.size)
	return nil
}

// capacity returns the largest number of elements that c can have.
func (d *DatasetWriter) capacity(c *partialChunk) int {
	n := 1
	for axis, size := range d.layout.Chunks {
		if d.max[axis] != -1 {
			size = min(size, d.max[axis]-c.start[axis])
		}
		n *= size
	}
	return n
}

// begin allocates memory for the elements of c. Unless the n elements to be written
// first fill it, the others are read from the file or zero.
func (d *DatasetWriter) begin(c *partialChunk, n int) error {
	c.data = scratch.Get(d.chunkBytes())
	whole := n*d.size == len(c.data)
	if whole && !d.layout.severalCompress() {
		return nil
	}
	clear(c.data)
	var stored []byte
	var mask uint32
	err := d.do(func() (err error) {
		stored, mask, err = d.id.ReadChunk(c.start)
		return err
	})
	if err != nil || stored == nil {
		return err
	}
	if key(c.start) == d.last.key {
		mask = d.last.mask
	}
	if c.oldBytes, c.oldMask = len(stored), mask; whole {
		return nil
	}
	return filter.Decode(c.data, stored, d.layout.Filters, mask, d.size)
}

func (d *DatasetWriter) encode(c *partialChunk) (err error) {
	c.stored, c.mask, err = filter.Encode(c.data, d.layout.Filters, d.size)
	return err
}

// store writes the complete chunks and keeps the others.
func (d *DatasetWriter) store(chunks []*partialChunk) error {
	for _, c := range chunks {
		if !c.complete {
			d.partial[key(c.start)] = c
			continue
		}
		if err := d.do(func() error { return d.storeOne(c) }); err != nil {
			return fmt.Errorf("chunk at %v: %w", c.start, err)
		}
		d.last = lastChunk{key(c.start), c.mask}
		delete(d.partial, d.last.key)
		scratch.Put(c.data)
	}
	return nil
}

// storeOne writes a complete chunk. libhdf5 1.10.8 keeps the mask of a chunk that is replaced by one
// of the same size, so it is first replaced by one of another size.
func (d *DatasetWriter) storeOne(c *partialChunk) error {
	if len(c.stored) == c.oldBytes && c.mask != c.oldMask {
		if err := d.id.WriteChunk(c.start, c.mask, append(slices.Clone(c.stored), 0)); err != nil {
			return err
		}
	}
	return d.id.WriteChunk(c.start, c.mask, c.stored)
}

// severalCompress reports whether several filters may be skipped. Only then can chunks to which
// different ones were applied have the same size.
func (l Layout) severalCompress() bool {
	n := 0
	for _, f := range l.Filters {
		if f.Flags&1 != 0 && f.ID != filter.ShuffleID {
			n++
		}
	}
	return n > 1
}

// flush writes all partial chunks.
func (d *DatasetWriter) flush() error {
	chunks := slices.SortedFunc(maps.Values(d.partial), func(a, b *partialChunk) int { return slices.Compare(a.start, b.start) })
	err := each(chunks, func(c *partialChunk) error {
		c.complete = true
		return d.encode(c)
	})
	if err != nil {
		return err
	}
	return d.store(chunks)
}

// do makes one call for the dataset, unless its file is closed.
func (d *DatasetWriter) do(call func() error) error {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if d.w.closed {
		return fmt.Errorf("the file is closed: %w", storage.ErrState)
	}
	return call()
}
