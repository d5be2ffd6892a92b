package dataset

import (
	"math"

	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/internal/prefetch"
)

// windowRows are the rows that the windows of a dataset consist of.
type windowRows struct {
	columns []*column // by field, of rows
	offsets [][]int   // by field: of the rows of a window, from its start on, ascending
}

// windowRows returns the rows of the windows of a table, or nil if none of its fields shows windows.
func (t *table) windowRows() *windowRows {
	w, shared := &windowRows{}, false
	for _, c := range t.columns {
		rows, offsets := c.data.View, []int{0}
		if n, step := rowsApart(c.data.View); n > 1 {
			v := c.data.View
			rows = samples(v, 0, v.Shape[0]+(n-1)*step)
			rows.Shape, rows.Stride = append(rows.Shape[:1:1], v.Shape[2:]...), append(v.Stride[:1:1], v.Stride[2:]...)
			for k := 1; k < n; k++ {
				offsets = append(offsets, k*step)
			}
			shared = true
		}
		column, err := newColumn(NamedArray{Name: c.Name, Array: c.data.With(rows)})
		if err != nil {
			return nil
		}
		if c.cached != nil {
			column.cacheWhole()
		}
		w.columns, w.offsets = append(w.columns, column), append(w.offsets, offsets)
	}
	if !shared {
		return nil
	}
	return w
}

// row returns the row at an offset of a window.
func (w ClippedWindow) row(offset int) int { return min(max(w.Start+offset, w.First), w.Last) }

// unclipped is the window that begins with a row, in an episode that is longer than any window.
func unclipped(row int) ClippedWindow { return ClippedWindow{row, 0, math.MaxInt} }

// rowBlocks are blocks of windows in a cache, as the rows from the first to the last of their windows: so each row is
// there once, however many windows have it.
type rowBlocks struct {
	blocks
	windowOf func(sample int) (*windowRows, ClippedWindow)
	most     []int   // by field: rows in the block that has most
	bytes    float64 // of the rows in most
	all      float64 // of the rows of all blocks
}

// newRowBlocks returns the blocks of d as rows, or nil if its samples take about as little memory.
func newRowBlocks(d Description, b blocks) *rowBlocks {
	if d.windowOf == nil || b.count() == 0 {
		return nil
	}
	r := &rowBlocks{blocks: b, windowOf: d.windowOf, most: make([]int, len(d.Fields))}
	var columns []*column
	for block := range b.ends {
		last, _ := d.windowOf(b.ends[block] - 1)
		w, _, n := r.of(block)
		if w != last {
			return nil
		}
		columns = w.columns
		for i, c := range columns {
			r.all += float64(n[i]) * float64(c.size)
			r.most[i] = max(r.most[i], n[i])
		}
	}
	for i, c := range columns {
		r.bytes += float64(r.most[i]) * float64(c.size)
	}
	if r.bytes > 0.75*float64(b.largest)*float64(d.SampleBytes) {
		return nil
	}
	return r
}

// of returns the rows of a block: by field the first one, and how many there are. Windows ascend within a block.
func (r *rowBlocks) of(block int) (w *windowRows, first, n []int) {
	w, begin := r.windowOf(r.start(block))
	_, end := r.windowOf(r.ends[block] - 1)
	for _, offsets := range w.offsets {
		lo := begin.row(offsets[0])
		first, n = append(first, lo), append(n, end.row(offsets[len(offsets)-1])+1-lo)
	}
	return w, first, n
}

// alloc returns memory for the rows of a block, or of any one.
func (r *rowBlocks) alloc(block int, largest bool) (*Batch, error) {
	w, _, n := r.of(block)
	if largest {
		n = r.most
	}
	b := &Batch{}
	for i, c := range w.columns {
		a, err := c.Field.alloc(n[i], nil)
		if err != nil {
			return nil, err
		}
		bytes, _ := a.Bytes()
		b.data = append(b.data, bytes)
	}
	return b, nil
}

// decode reads the rows of the block of a cache entry into it.
func (r *rowBlocks) decode(at *cachedBlock) (err error) {
	defer panics.Recover(&err)
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	w, first, n := r.of(at.block)
	at.first = first
	for i, c := range w.columns {
		rows := work.ints(n[i])
		for k := range rows {
			rows[k] = first[i] + k
		}
		if c.size == 0 {
			continue
		}
		if err := c.gather(destination{batch: at.batch}, i, rows); err != nil {
			return err
		}
	}
	return nil
}

// copy copies a sample, whose rows are cached, to an index of the fields of a batch.
func (r *rowBlocks) copy(dst [][]byte, index, sample int, at *cachedBlock) {
	w, window := r.windowOf(sample)
	for i, offsets := range w.offsets {
		n, size := len(offsets), w.columns[i].size
		to, from := dst[i][index*n*size:(index+1)*n*size], at.data[i]
		lo, hi := window.row(offsets[0])-at.first[i], window.row(offsets[n-1])-at.first[i]
		if offsets[n-1]-offsets[0] == n-1 && hi-lo == n-1 {
			copy(to, from[lo*size:])
			continue
		}
		for j, offset := range offsets {
			copy(to[j*size:(j+1)*size], from[(window.row(offset)-at.first[i])*size:])
		}
	}
}

// prefetch makes the processor load the beginning of a sample.
func (r *rowBlocks) prefetch(sample int, at *cachedBlock) {
	w, window := r.windowOf(sample)
	for i, offsets := range w.offsets {
		lo, hi := window.row(offsets[0])-at.first[i], window.row(offsets[len(offsets)-1])-at.first[i]
		prefetch.Bytes(at.data[i][lo*w.columns[i].size:][:min(mostPrefetched, (hi+1-lo)*w.columns[i].size)])
	}
}
