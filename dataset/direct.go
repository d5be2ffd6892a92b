package dataset

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Samples of a [storage.Direct] need no decoding, so none of them are held: they
// are read one by one, and the system, which holds the file's pages, is told in
// time which blocks come next.

// beyondCache is how many bytes in a file are taken for more than the system will
// keep of it. Read in random order they would come from the disk a sample at a
// time, so that Auto shuffles them by window.
const beyondCache = 4 << 30

// undecoded reports whether every sample of d can be read alone at no extra cost.
func undecoded(d scatterer) bool {
	return !slices.ContainsFunc(columns(d), func(c *column) bool { return !c.alone() })
}

// onDisk returns how many bytes of d lie in files that are not mapped.
func onDisk(d scatterer) (bytes float64) {
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
	case storage.Host, storage.Lender:
		return true
	}
	return c.held != nil || c.direct()
}

// direct reports whether c's samples are stretches of a storage.Direct.
func (c *column) direct() bool {
	_, ok := c.data.Data.(storage.Direct)
	row := views.View{Shape: c.data.Shape[1:], Stride: c.data.Stride[1:]}
	return ok && c.held == nil && row.Contiguous()
}

// gatherDirect reads stretches of rows to their places.
func (c *column) gatherDirect(dst []byte, rows, to []int) error {
	from, elem := c.data.Data.(storage.Direct), c.Type.Size()
	start, step := c.data.Offset*elem, c.data.Stride[0]*elem
	for k := 0; k < len(rows); {
		n := 1
		if step == c.size {
			n = stretch(rows[k:], to, k)
		}
		at := place(to, k) * c.size
		if _, err := from.ReadAt(dst[at:at+n*c.size], int64(start+rows[k]*step)); err != nil {
			return err
		}
		k += n
	}
	return nil
}

// expect tells the files below d that its samples from first up to end come next.
func expect(d scatterer, first, end int) {
	switch d := d.(type) {
	case *table:
		for _, c := range d.columns {
			if step := c.data.Stride[0] * c.Type.Size(); c.direct() && step > 0 {
				c.data.Data.(storage.Direct).Expect(c.data.Offset*c.Type.Size()+first*step, (end-1-first)*step+c.size)
			}
		}
	case *subset:
		if d.ascend {
			expect(d.scatterer, d.rows[first], d.rows[end-1]+1)
		}
	case *chain:
		for i, part := range d.parts {
			start := d.ends[i] - part.Len()
			if lo, hi := max(first, start), min(end, d.ends[i]); lo < hi {
				expect(part, lo-start, hi-start)
			}
		}
	}
}
