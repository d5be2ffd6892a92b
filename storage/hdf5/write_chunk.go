package hdf5

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// A partialChunk chunk is one that elements are being written to.
type partialChunk struct {
	start    []int
	data     []byte // decoded
	filled   int    // elements written so far
	complete bool
	stored   []byte // encoded
	mask     uint32
}

// maxPartialBytes is the most that chunks begun may take before they are written
// unfinished, to be read again when more of their elements come.
const maxPartialBytes = 64 << 20

// writeChunks copies a to the chunks it touches, some blocks of whole chunks at
// a time, each of which is fetched once.
func (d *DatasetWriter) writeChunks(start []int, a storage.Array) error {
	unit := d.layout.Chunks
	lead := make([]int, len(start)) // elements of the first chunk before start
	grid := make([]int, len(start))
	for axis := range start {
		lead[axis] = start[axis] % unit[axis]
		grid[axis] = lead[axis] + a.Shape[axis]
	}
	for b := range hyperslabs(grid, unit, blockBytes/d.t.Size()) {
		from, count := make([]int, len(start)), make([]int, len(start))
		for axis := range from { // the part of a in the block
			from[axis] = max(0, b.start[axis]-lead[axis])
			count[axis] = b.start[axis] + b.count[axis] - lead[axis] - from[axis]
		}
		part, err := a.With(subview(a.View, from, count)).To(storage.CPU)
		if err != nil {
			return err
		}
		for axis := range from {
			from[axis] += start[axis]
		}
		if err := d.writeBlock(from, part); err != nil {
			return err
		}
	}
	if len(d.partial)*d.chunkBytes() > maxPartialBytes {
		return d.flush()
	}
	return nil
}

func (d *DatasetWriter) chunkBytes() int {
	n, _ := product(d.layout.Chunks, d.t.Size())
	return n
}

// writeBlock copies a, which begins at from, to the chunks it touches: all are
// filled and encoded side by side, and those complete are stored in order.
func (d *DatasetWriter) writeBlock(from []int, a storage.Array) error {
	chunks := d.touched(from, a.Shape)
	err := parallel(slices.Values(chunks), func(c *partialChunk) error {
		if err := d.fill(c, from, a); err != nil || !c.complete {
			return err
		}
		return d.encode(c)
	})
	if err != nil {
		return err
	}
	return d.writeChunk(chunks)
}

// touched returns the chunks that a box has elements of.
func (d *DatasetWriter) touched(from, shape []int) []*partialChunk {
	var chunks []*partialChunk
	unit := d.layout.Chunks
	first, span := make([]int, len(from)), make([]int, len(from))
	for axis, at := range from {
		first[axis] = at - at%unit[axis]
		span[axis] = at + shape[axis] - first[axis]
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
		if !next(at, span, unit) {
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

// fill copies to c what it has of a, which begins at from.
func (d *DatasetWriter) fill(c *partialChunk, from []int, a storage.Array) error {
	unit := d.layout.Chunks
	inChunk, inArray, count := make([]int, len(from)), make([]int, len(from)), make([]int, len(from))
	for axis := range from {
		lo, hi := max(c.start[axis], from[axis]), min(c.start[axis]+unit[axis], from[axis]+a.Shape[axis])
		inChunk[axis], inArray[axis], count[axis] = lo-c.start[axis], lo-from[axis], hi-lo
	}
	part := a.With(subview(a.View, inArray, count))
	c.filled += part.Len()
	c.complete = c.filled >= d.capacity(c)
	if c.data == nil {
		if err := d.begin(c, part.Len()); err != nil {
			return err
		}
	}
	to, size := subview(views.Of(unit...), inChunk, count), d.t.Size()
	elems := a.Data.(storage.Host).Bytes()
	views.Walk(func(at, step []int, n int) {
		if step[0] == 1 && step[1] == 1 {
			copy(c.data[at[0]*size:(at[0]+n)*size], elems[at[1]*size:])
			return
		}
		for k := range n {
			i, j := (at[0]+k*step[0])*size, (at[1]+k*step[1])*size
			copy(c.data[i:i+size], elems[j:j+size])
		}
	}, to, part.View)
	return nil
}

// capacity returns how many elements c can ever get.
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

// begin gives c memory for its elements, with what the file has of those that
// the first piece, of n elements, leaves out.
func (d *DatasetWriter) begin(c *partialChunk, n int) error {
	c.data = scratch.Get(d.chunkBytes())
	if n*d.t.Size() == len(c.data) {
		return nil
	}
	clear(c.data)
	stored, err := d.call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_chunk_size(C.int64_t(d.id.ID()), sizes(c.start), msg, size)
	})
	if err != nil || stored == 0 {
		return err
	}
	var mask C.uint32_t
	raw := make([]byte, stored)
	_, err = d.call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_read_chunk(C.int64_t(d.id.ID()), sizes(c.start), &mask, pointer(raw), C.size_t(len(raw)), msg, size)
	})
	if err != nil {
		return err
	}
	return filter.Decode(c.data, raw, d.layout.Filters, uint32(mask), d.t.Size())
}

func (d *DatasetWriter) encode(c *partialChunk) (err error) {
	c.stored, c.mask, err = filter.Encode(c.data, d.layout.Filters, d.t.Size())
	return err
}

// writeChunk writes the complete ones of some chunks and keeps the others.
func (d *DatasetWriter) writeChunk(chunks []*partialChunk) error {
	for _, c := range chunks {
		if !c.complete {
			d.partial[key(c.start)] = c
			continue
		}
		_, err := d.call(func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_write_chunk(C.int64_t(d.id.ID()), sizes(c.start), C.uint32_t(c.mask),
				pointer(c.stored), C.size_t(len(c.stored)), msg, size)
		})
		if err != nil {
			return fmt.Errorf("chunk at %v: %w", c.start, err)
		}
		delete(d.partial, key(c.start))
		scratch.Put(c.data)
	}
	return nil
}

// flush writes all chunks begun as they are.
func (d *DatasetWriter) flush() error {
	chunks := slices.SortedFunc(maps.Values(d.partial), func(a, b *partialChunk) int { return slices.Compare(a.start, b.start) })
	err := parallel(slices.Values(chunks), func(c *partialChunk) error {
		c.complete = true
		return d.encode(c)
	})
	if err != nil {
		return err
	}
	return d.writeChunk(chunks)
}

// call makes one call for the dataset, unless its file is closed.
func (d *DatasetWriter) call(c libraryCall) (int64, error) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	if d.w.closed {
		return 0, fmt.Errorf("the file is closed: %w", storage.ErrState)
	}
	return callLibrary(c)
}
