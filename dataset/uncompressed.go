package dataset

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Samples of a [storage.Uncompressed] need no decoding, so none of them are held: they
// are read one by one, and the system, which holds the file's pages, is told in
// time which blocks come next.

// beyondCache is how many bytes in a file are taken for more than the system will
// keep of it. Read in random order they would come from the disk a sample at a
// time, so that Auto shuffles them by window.
const beyondCache = 4 << 30

// undecoded reports whether every sample of d can be read alone at no extra cost.
func undecoded(d scatterReader) bool {
	return !slices.ContainsFunc(columns(d), func(c *column) bool { return !c.alone() })
}

// onDisk returns how many bytes of d lie in files that are not mapped.
func onDisk(d scatterReader) (bytes float64) {
	for _, c := range columns(d) {
		if c.direct() {
			bytes += float64(c.data.Shape[0]) * float64(c.size)
		}
	}
	return bytes
}

// alone reports whether a sample of c costs no more than the copy.
func (c *column) alone() bool {
	switch c.data.Data.(type) {
	case storage.Host, storage.MappedSource:
		return true
	}
	return c.cached != nil || c.direct()
}

// direct reports whether c's samples are stretches of a storage.Uncompressed.
func (c *column) direct() bool {
	_, ok := c.data.Data.(storage.Uncompressed)
	row := views.View{Shape: c.data.Shape[1:], Stride: c.data.Stride[1:]}
	return ok && c.cached == nil && row.Contiguous()
}

// gatherDirect reads stretches of rows to their places.
func (c *column) gatherDirect(dst []byte, rows, to []int) error {
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

// eachDirect visits the parts of files, n bytes from a place on, in which the
// samples of d from first up to end lie.
func eachDirect(d scatterReader, first, end int, visit func(file storage.Uncompressed, at, n int)) {
	switch d := d.(type) {
	case *table:
		for _, c := range d.columns {
			if step := c.data.Stride[0] * c.Type.Size(); c.direct() && step > 0 {
				visit(c.data.Data.(storage.Uncompressed), c.data.Offset*c.Type.Size()+first*step, (end-1-first)*step+c.size)
			}
		}
	case *subset:
		if d.ascend {
			eachDirect(d.scatterReader, d.rows[first], d.rows[end-1]+1, visit)
		}
	case *chain:
		for i, part := range d.parts {
			start := d.ends[i] - part.Len()
			if lo, hi := max(first, start), min(end, d.ends[i]); lo < hi {
				eachDirect(part, lo-start, hi-start, visit)
			}
		}
	}
}
