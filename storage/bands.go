package storage

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// bands divide an axis of a chunked array into runs of indices that are read at once. They end
// where chunks end along that axis, so that a chunk is decoded once and not for each block, also
// when the array is a transposed view of the chunks.
type bands struct {
	axis  int // the first with more than one index
	first int // the number of indices in the first band
	rows  int // and in each of the others
}

// memoryOfBands is where bands are read to. Theirs goes back to the system after each array.
var memoryOfBands = NewPool(CPU)

// mostBand returns the limit of the bytes of a band, beyond which chunks are decoded several times.
func mostBand() int { return max(largeBlock, defaultBudget()/2) }

// bandsOf returns the bands of an array whose axes are axes of the chunks, in any order and
// either direction. It returns false for other arrays, and if reading a band would take much
// memory beside it.
func bandsOf(a Array, most int) (b bands, ok bool) {
	source, inPlace := a.Data.(ChunkedInPlace)
	b.axis = slices.IndexFunc(a.Shape, func(n int) bool { return n > 1 })
	if !inPlace || !source.ReadsInPlace() || b.axis < 0 || a.Len() == 0 {
		return b, false
	}
	shape, chunk := source.Shape(), source.ChunkShape()
	if len(chunk) == 0 || len(chunk) != len(shape) {
		return b, false
	}
	whole, stride := views.Of(shape...), a.Stride[b.axis]
	k := slices.IndexFunc(whole.Stride, func(s int) bool { return s == max(stride, -stride) })
	for k >= 0 && k+1 < len(shape) && shape[k] == 1 && whole.Stride[k+1] == whole.Stride[k] {
		k++ // of axes with one stride, the last has the indices
	}
	if k < 0 || a.Shape[b.axis] > shape[k] || chunk[k] < 1 {
		return b, false
	}
	size := a.Type.Size()
	row := a.Len() / a.Shape[b.axis] * size
	switch inChunk := views.Of(chunk...).Len() * size; {
	case row <= largeBlock/chunk[k]:
		b.rows = largeBlock / row / chunk[k] * chunk[k]
	case inChunk > mediumBlock:
		return b, false
	default:
		b.rows = min(chunk[k], most/row)
	}
	b.first = b.rows
	if b.rows >= chunk[k] {
		before := a.Offset / whole.Stride[k] % shape[k] % chunk[k] // indices of a chunk before the array
		if stride < 0 {
			before = chunk[k] - 1 - before
		}
		b.first -= before
	}
	return b, b.rows > 0
}

// each yields the bands of a view.
func (b bands) each(v views.View) iter.Seq[views.View] {
	return func(yield func(views.View) bool) {
		n := v.Shape[b.axis]
		for start, end := 0, b.first; start < n; start, end = end, end+b.rows {
			if !yield(v.Narrow(b.axis, start, min(end, n))) {
				return
			}
		}
	}
}

// writeBands writes the bytes of a's elements to w, band by band.
func (a Array) writeBands(w io.Writer, b bands) (total int64, err error) {
	n := a.Shape[b.axis]
	memory, err := memoryOfBands.Get(a.Len() / n * min(b.rows, n) * a.Type.Size())
	if err != nil {
		return 0, fmt.Errorf("write %v%v: %w", a.Type, a.Shape, err)
	}
	defer memoryOfBands.Drop()
	defer memoryOfBands.Put(memory)
	for band := range b.each(a.View) {
		elems := memory.(Host).Bytes()[:band.Len()*a.Type.Size()]
		if err := a.With(band).read(elems); err != nil {
			return total, fmt.Errorf("write %v%v: %w", a.Type, a.Shape, err)
		}
		n, err := w.Write(elems)
		if total += int64(n); err != nil {
			return total, err
		}
	}
	return total, nil
}
