package dataset

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Samples of a [storage.Uncompressed] are not decoded, so no block of them is
// cached: they are read straight into batches, out of the system's page cache, which is
// told in time which blocks come next.

// beyondCache is how many bytes in files are assumed to exceed the page cache. Read in
// random order they would come from the disk a sample at a time, so Auto shuffles
// them by window.
const beyondCache = 4 << 30

// access is how the samples of a column are reached.
type access uint8

const (
	inMemory access = iota // or in a mapped file
	ranges                 // ranges of a file, read as they are
	decoded                // read and decoded, or converted
)

// accessOf returns how the samples of a are reached.
func accessOf(a storage.Array) access {
	switch a.Data.(type) {
	case storage.Host, storage.MappedSource:
		return inMemory
	case storage.Uncompressed:
		row := views.View{Shape: a.Shape[1:], Stride: a.Stride[1:]}
		if row.Contiguous() {
			return ranges
		}
	}
	return decoded
}

// smallSample is the size of samples, in bytes, from which on it is cheaper to have the
// system copy each to its place than to copy them from a buffer.
const smallSample = 1 << 10

// gatherRanges reads runs of consecutive samples. Small ones of a block, which go to
// different batches, are copied there from a buffer.
func (c *column) gatherRanges(to destination, field int, rows []int) error {
	if to.batches != nil && c.size < smallSample {
		return c.gatherSmall(to, field, rows)
	}
	elem := c.Type.Size()
	start, step := c.data.Offset*elem, c.data.Stride[0]*elem
	return c.data.Data.(storage.Uncompressed).ReadRanges(func(yield func(int, []byte) bool) {
		for k := 0; k < len(rows); {
			n := 1
			if step == c.size {
				n = to.consecutive(rows, k)
			}
			if !yield(start+rows[k]*step, to.bytes(field, k, n, c.size)) {
				return
			}
			k += n
		}
	})
}

// A span is samples that are read together, at an offset of their file.
type span struct {
	at, n  int // in bytes
	offset int // of the first in the buffer
	k, end int // indices of the samples
}

// Samples with less than skipBytes between them are in one span. Spans are read until the
// buffer holds spanBuffer bytes.
const (
	skipBytes  = 4 << 10
	spanBuffer = 1 << 20
)

// gatherSmall reads samples into a buffer and copies them from there.
func (c *column) gatherSmall(to destination, field int, rows []int) error {
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	elem := c.Type.Size()
	start, step := c.data.Offset*elem, c.data.Stride[0]*elem
	var spans []span
	for k := 0; k < len(rows); {
		used := 0
		for spans = spans[:0]; k < len(rows) && used < spanBuffer; {
			s := c.spanFrom(rows, k, step)
			s.at, s.offset = start+rows[k]*step, used
			spans = append(spans, s)
			used += s.n
			k = s.end
		}
		buffer := work.bytes(used)
		err := c.data.Data.(storage.Uncompressed).ReadRanges(func(yield func(int, []byte) bool) {
			for _, s := range spans {
				if !yield(s.at, buffer[s.offset:][:s.n]) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		for _, s := range spans {
			for i := s.k; i < s.end; i++ {
				copy(to.bytes(field, i, 1, c.size), buffer[s.offset+(rows[i]-rows[s.k])*step:])
			}
		}
	}
	return nil
}

// spanFrom returns the size and the end of the span that begins with sample rows[k].
// Samples start step bytes apart.
func (c *column) spanFrom(rows []int, k, step int) span {
	s := span{k: k, n: c.size, end: k + 1}
	for step > 0 && s.end < len(rows) {
		at, skipped := (rows[s.end]-rows[k])*step, (rows[s.end]-rows[s.end-1])*step-c.size
		if rows[s.end] < rows[s.end-1] || skipped >= skipBytes || at >= spanBuffer {
			break
		}
		s.n = at + c.size
		s.end++
	}
	return s
}
