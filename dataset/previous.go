package dataset

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// FillPrevious returns a, of floats (rows) or (rows, columns), with the value of the row
// before in the place of NaN, as pandas' ffill. A NaN that no value comes before stays. The
// rows are read on demand, as far back as that needs.
func FillPrevious(name string, a storage.Array) (storage.Array, error) {
	if !a.Type.IsFloat() || a.Rank() < 1 || a.Rank() > 2 {
		return a, fmt.Errorf("dataset: %s: previous values of %v%v; want floats, (rows) or (rows, columns): %w", name, a.Type, a.Shape, views.ErrShape)
	}
	p := &previousRows{Array: a, width: views.Of(a.Shape[1:]...).Len()}
	p.gaps = make([]gap, p.width)
	chunk := 1
	if data, ok := a.Data.(storage.Chunked); ok {
		chunk, _ = rowGroups(a.View, data)
	}
	r := Ragged{Name: name, Rows: a.Shape[0], Type: a.Type, MaxLength: p.width, ChunkRows: chunk, Read: p.read}
	filled, err := r.Padded(p.width)
	if err == nil && a.Rank() == 1 {
		filled.View, err = filled.View.Squeeze(1)
	}
	return filled, err
}

// FillPrevious returns r with the value of the element before, of the same row, in the
// place of NaN. A NaN that no value comes before stays.
func (r Ragged) FillPrevious() Ragged {
	read, width := r.Read, views.Of(r.ElementShape...).Len()
	r.Read = func(dst []byte, first, n, length int) error {
		if err := read(dst, first, n, length); err != nil {
			return err
		}
		row := length * width * r.Type.Size()
		for k := range n {
			fillDown(dst[k*row:][:row], r.Type, width)
		}
		return nil
	}
	return r
}

// fillDown replaces each NaN below the first row by the element above it.
func fillDown(rows []byte, t dtype.Type, width int) {
	size := t.Size()
	for i, x := range float64s(rows, t) {
		if math.IsNaN(x) && i >= width {
			copy(rows[i*size:][:size], rows[(i-width)*size:])
		}
	}
}

// float64s returns elements of type t as float64.
func float64s(elems []byte, t dtype.Type) []float64 {
	values := make([]float64, len(elems)/t.Size())
	if err := dtype.Convert(dtype.Bytes(values), dtype.Float64, elems, t); err != nil {
		panic(err) // floats convert to floats
	}
	return values
}

// previousRows is rows whose missing elements have the values of rows before them.
type previousRows struct {
	storage.Array
	width int // elements of a row

	lock sync.Mutex
	gaps []gap // the longest known of each column
}

// A gap is rows from to end-1 of a column, which are all NaN. The value before them is
// nil if they are the first.
type gap struct {
	from, end int
	before    []byte
}

// read reads n rows and fills them.
func (p *previousRows) read(dst []byte, first, n, _ int) error {
	size := p.Type.Size()
	dst = dst[:n*p.width*size]
	if err := fetch(dst, p.Array, first, n); err != nil {
		return err
	}
	var missing []int // columns
	for k, x := range float64s(dst[:p.width*size], p.Type) {
		if math.IsNaN(x) {
			missing = append(missing, k)
		}
	}
	if err := p.fillRow(dst, first, missing); err != nil {
		return err
	}
	fillDown(dst, p.Type, p.width)
	return nil
}

// Rows are searched for a value in blocks that grow from the first size to the largest, as
// far as they take blockBytes.
const (
	firstBlock   = 64
	largestBlock = 4096
	blockBytes   = 1 << 20
)

// fillRow fills columns of a row, which are NaN, from the rows before it.
func (p *previousRows) fillRow(dst []byte, row int, columns []int) error {
	size := p.Type.Size()
	most := max(1, min(largestBlock, blockBytes/max(1, p.width*size)))
	for end, n := row, min(firstBlock, most); ; n = min(2*n, most) {
		columns = slices.DeleteFunc(columns, func(k int) bool { // rows end to row are NaN
			g, known := p.gapBefore(k, end)
			if known {
				p.fill(dst, k, gap{g.from, row + 1, g.before})
			}
			return known
		})
		if len(columns) == 0 {
			return nil
		}
		start := max(0, end-n)
		rows := make([]byte, (end-start)*p.width*size)
		if err := fetch(rows, p.Array, start, end-start); err != nil {
			return err
		}
		values := float64s(rows, p.Type)
		columns = slices.DeleteFunc(columns, func(k int) bool {
			for i := len(values) - p.width + k; i >= 0; i -= p.width {
				if !math.IsNaN(values[i]) {
					p.fill(dst, k, gap{start + i/p.width + 1, row + 1, slices.Clone(rows[i*size:][:size])})
					return true
				}
			}
			return false
		})
		end = start
	}
}

// gapBefore returns the known gap of a column that rows before end are in, if there is one.
func (p *previousRows) gapBefore(column, end int) (g gap, known bool) {
	if end == 0 {
		return gap{}, true
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	g = p.gaps[column]
	return g, g.end > 0 && g.from <= end && end <= g.end
}

// fill fills a column of a row at the end of a gap, which is kept if it is the longest.
func (p *previousRows) fill(dst []byte, column int, g gap) {
	copy(dst[column*p.Type.Size():], g.before)
	p.lock.Lock()
	defer p.lock.Unlock()
	if have := p.gaps[column]; g.end-g.from > have.end-have.from {
		p.gaps[column] = g
	}
}
