package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/prefetch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A column is one field of every sample of a table.
type column struct {
	Field
	from      Origin
	data      storage.Array // its first axis counts samples
	size      int           // bytes in one sample
	windowLen int           // rows of the source in one sample; neighbouring samples share them; see Steps
	chunk     int           // rows that a chunked source decodes together; 1 if it is not chunked
	rowGroup  int           // samples that are best read together: those of the chunks that one sample spans
	skipped   int           // rows of the first chunk that come before sample 0

	access access
	cached func() (storage.Array, error) // the whole column decoded, if it is small; else nil
}

func newColumn(n NamedArray) (*column, error) {
	name, a := n.Name, n.Array
	c := &column{from: n.From, data: a, windowLen: 1, chunk: 1, rowGroup: 1}
	if !a.Type.Valid() {
		return nil, fmt.Errorf("dataset: %s: elements of %v cannot be loaded: %w", name, a.Type, dtype.ErrType)
	}
	if a.Rank() == 0 {
		return nil, fmt.Errorf("dataset: %s: a single %v has no axis that counts samples: %w", name, a.Type, views.ErrShape)
	}
	inner, err := views.New(a.Shape[1:], math.MaxInt/a.Type.Size())
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: a sample: %w", name, err)
	}
	c.Field = Field{name, n.Role, n.LengthOf, a.Type, inner.Shape}
	c.size, c.access = inner.Len()*a.Type.Size(), accessOf(a)
	if !a.Within(a.Data.Len() / a.Type.Size()) {
		return nil, fmt.Errorf("dataset: %v reaches beyond its storage of %d bytes: %w", c.Field, a.Data.Len(), views.ErrShape)
	}
	switch data := a.Data.(type) {
	case storage.Chunked:
		var rows views.View
		rows, c.windowLen = windows(a.View)
		c.chunk, c.skipped = rowGroups(rows, data)
		if c.rowGroup = c.chunk; len(data.ChunkShape()) > 0 {
			c.rowGroup = (c.windowLen + c.chunk - 1) / c.chunk * c.chunk
		}
	case storage.Source, storage.Host:
	default:
		return nil, fmt.Errorf("dataset: %v lives on %v, which a loader cannot read; move it to the CPU first: %w", c.Field, data.Device(), storage.ErrDevice)
	}
	return c, nil
}

// rowGroups returns how many rows of v lie in one chunk of s, and how many of the
// first chunk come before row 0. A view that does not step forward along the first
// axis, by steps that divide a chunk, has row groups of one row.
func rowGroups(v views.View, s storage.Chunked) (size, skipped int) {
	shape, chunk := s.Shape(), s.ChunkShape()
	if len(shape) == 0 || len(chunk) != len(shape) || v.Shape[0] == 0 {
		return 1, 0
	}
	row := views.Of(shape[1:]...).Len()
	if row == 0 || chunk[0] < 1 || v.Stride[0] < row || v.Stride[0]%row != 0 {
		return 1, 0
	}
	step := v.Stride[0] / row
	if chunk[0]%step != 0 {
		return 1, 0
	}
	return chunk[0] / step, v.Offset / row % chunk[0] / step
}

// aloneBytes returns about how many bytes are decoded to read a sample by itself, 0 if that is a whole chunk: rows of it
// that are apart have parts of the chunk each, one more than they fill.
func (c *column) aloneBytes() int {
	source, ok := c.data.Data.(storage.ChunkedInParts)
	if !ok {
		return 0
	}
	rows, step := rowsApart(c.data.View)
	runs := rows
	if step == 1 {
		runs = 1
	}
	const mostDecoded = 8 // times the size of the sample, from where on packages that decode parts decode all
	part := source.PartBytes()
	if bytes := c.size + runs*part; part > 0 && 2*rows <= c.chunk && bytes <= mostDecoded*c.size {
		return bytes
	}
	return 0
}

// chunked reports whether neighbouring samples are decoded together.
func (c *column) chunked() bool { return c.cached == nil && c.rowGroup > 1 }

// groupOf returns the row group of a sample.
func (c *column) groupOf(row int) int { return (row + c.skipped) / c.rowGroup }

// cacheWhole makes the first read decode the whole column, which then stays in memory.
func (c *column) cacheWhole() {
	c.cached = sync.OnceValues(func() (storage.Array, error) {
		rows, n := windows(c.data.View)
		whole, err := c.data.With(rows).To(storage.CPU)
		if err != nil || n == 1 {
			return whole, err
		}
		return SlidingWindows(whole, n)
	})
}

// gather copies sample rows[k] to where to says; this is a field of its batches.
func (c *column) gather(to destination, field int, rows []int) error {
	data := c.data
	if c.cached != nil {
		whole, err := c.cached()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		data = whole
	}
	var err error
	switch from := data.Data.(type) {
	case storage.Host:
		c.gatherBytes(to, field, from.Bytes(), data.View, rows)
	case storage.MappedSource:
		err = from.WithBytes(func(b []byte) error {
			c.gatherBytes(to, field, b, data.View, rows)
			return nil
		})
	default:
		if c.access == ranges {
			err = c.gatherRanges(to, field, rows)
		} else {
			err = c.gatherSource(to, field, rows)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

func (c *column) gatherBytes(to destination, field int, src []byte, v views.View, rows []int) {
	elem := c.Type.Size()
	start, step := v.Offset*elem, v.Stride[0]*elem
	row := views.View{Shape: v.Shape[1:], Stride: v.Stride[1:]}
	if !row.Contiguous() {
		for k, r := range rows {
			row.Offset = v.Offset + r*v.Stride[0]
			storage.Gather(to.bytes(field, k, 1, c.size), src, c.Type, row)
		}
		return
	}
	if to.batches == nil && (c.size == 1 || c.size == 4 || c.size == 8) {
		gatherScalars(to.batch.data[field], src, c.size, start, step, rows, to)
		return
	}
	ahead := rowsAhead(c.size)
	for k := 0; k < len(rows); {
		n := 1
		if step == c.size {
			n = to.consecutive(rows, k)
		}
		var next []byte
		if k+ahead < len(rows) && n == 1 {
			next = src[start+rows[k+ahead]*step:][:c.size]
		}
		prefetch.Copy(to.bytes(field, k, n, c.size), src[start+rows[k]*step:][:n*c.size], next)
		k += n
	}
}

// rowsAhead returns the distance of prefetching in rows of size bytes.
// The processor has loads of a few KiB under way at a time.
func rowsAhead(size int) int { return max(1, 4<<10/size) }

// gatherScalars copies single elements to one batch. A call to copy them would cost more
// than the copy.
func gatherScalars(dst, src []byte, size, start, step int, rows []int, to destination) {
	order := binary.LittleEndian // of no consequence: elements are written as they are read
	for k, row := range rows {
		at, from := to.at(k)*size, start+row*step
		switch size {
		case 1:
			dst[at] = src[from]
		case 4:
			order.PutUint32(dst[at:], order.Uint32(src[from:]))
		case 8:
			order.PutUint64(dst[at:], order.Uint64(src[from:]))
		}
	}
}

// largeGap is the number of bytes of samples that are not selected from which on two reads are cheaper than one: the
// source has the chunk in its cache, or decodes what is selected alone.
const largeGap = 1 << 20

// gatherSource reads each row group from the first to the last of its rows that are selected, but for large gaps.
func (c *column) gatherSource(to destination, field int, rows []int) error {
	if n := to.consecutive(rows, 0); n == len(rows) {
		return c.read(to.bytes(field, 0, n, c.size), rows[0], n)
	}
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	order := work.ints(len(rows))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return rows[a] - rows[b] })
	c.prefetchGroups(rows, order)
	for len(order) > 0 {
		first, end := rows[order[0]], c.groupEnd(rows[order[0]])
		n := 1
		for n < len(order) && rows[order[n]] < end && (rows[order[n]]-rows[order[n-1]]-1)*c.size < largeGap {
			n++
		}
		end = rows[order[n-1]] + 1
		group := work.bytes((end - first) * c.size)
		if err := c.read(group, first, end-first); err != nil {
			return err
		}
		for _, k := range order[:n] {
			copy(to.bytes(field, k, 1, c.size), group[(rows[k]-first)*c.size:])
		}
		order = order[n:]
	}
	return nil
}

// groupEnd returns where the row group of a row ends.
func (c *column) groupEnd(row int) int { return (c.groupOf(row)+1)*c.rowGroup - c.skipped }

// read reads n samples from row on. Rows that windows share are read once.
func (c *column) read(dst []byte, row, n int) error {
	source := c.data.Data.(storage.Source)
	if c.windowLen == 1 {
		return source.ReadView(dst, c.Type, samples(c.data.View, row, n))
	}
	rows, _ := windows(c.data.View)
	step := c.size / c.windowLen
	if n == 1 {
		return source.ReadView(dst, c.Type, samples(rows, row, c.windowLen))
	}
	single := make([]byte, (n+c.windowLen-1)*step)
	if err := source.ReadView(single, c.Type, samples(rows, row, n+c.windowLen-1)); err != nil {
		return err
	}
	for k := range n {
		copy(dst[k*c.size:(k+1)*c.size], single[k*step:])
	}
	return nil
}

// samples returns n samples of v, from first on.
func samples(v views.View, first, n int) views.View {
	v.Offset += first * v.Stride[0]
	v.Shape = slices.Clone(v.Shape)
	v.Shape[0] = n
	return v
}

// A scratch is memory for the duration of one call.
type scratch struct {
	rows []int
	data []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) ints(n int) []int {
	s.rows = slices.Grow(s.rows[:0], n)[:n]
	return s.rows
}

func (s *scratch) bytes(n int) []byte {
	s.data = slices.Grow(s.data[:0], n)[:n]
	return s.data
}
