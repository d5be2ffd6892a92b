package dataset

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Samples of a [storage.Uncompressed] are not decoded, so no block of them is
// cached: they are read one by one, from pages in the system's page cache, which is
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

// gatherRanges reads runs of consecutive samples to their places.
func (c *column) gatherRanges(dst []byte, rows, to []int) error {
	elem := c.Type.Size()
	start, step := c.data.Offset*elem, c.data.Stride[0]*elem
	return c.data.Data.(storage.Uncompressed).ReadRanges(func(yield func(int, []byte) bool) {
		for k := 0; k < len(rows); {
			n := 1
			if step == c.size {
				n = consecutive(rows[k:], to, k)
			}
			at := destination(to, k) * c.size
			if !yield(start+rows[k]*step, dst[at:at+n*c.size]) {
				return
			}
			k += n
		}
	})
}

func (t *table) eachRange(first, end int, visit func(file storage.Uncompressed, at, n int)) {
	for _, c := range t.columns {
		if step := c.data.Stride[0] * c.Type.Size(); c.access == ranges && c.cached == nil && step > 0 {
			visit(c.data.Data.(storage.Uncompressed), c.data.Offset*c.Type.Size()+first*step, (end-1-first)*step+c.size)
		}
	}
}

func (s *subset) eachRange(first, end int, visit func(file storage.Uncompressed, at, n int)) {
	if s.ascending {
		s.reader.eachRange(s.rows[first], s.rows[end-1]+1, visit)
	}
}

func (c *chain) eachRange(first, end int, visit func(file storage.Uncompressed, at, n int)) {
	for i, part := range c.parts {
		start := c.ends[i] - part.Len()
		if lo, hi := max(first, start), min(end, c.ends[i]); lo < hi {
			part.eachRange(lo-start, hi-start, visit)
		}
	}
}
