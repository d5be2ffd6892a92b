package gguf

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A quantizedSource is a Source of float32s that are stored in blocks.
type quantizedSource struct {
	stored storage.Source
	block  block
	n      int // elements
	order  binary.ByteOrder
}

func (q *quantizedSource) Len() int               { return q.n * 4 }
func (q *quantizedSource) Device() storage.Device { return q.stored.Device() }

func (q *quantizedSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != dtype.Float32 || !v.Within(q.n) || len(dst) < v.Len()*4 {
		return fmt.Errorf("%v: %v%v of %d float32: %w", q.Device(), t, v.Shape, q.n, views.ErrShape)
	}
	return q.read(dst[:v.Len()*4], v)
}

// maxSpan is how many elements are decoded at a time.
const maxSpan = 4 << 20

// read decodes the blocks from the first element of v to the last, unless these are many or many more
// than v selects; then one half of v after the other.
func (q *quantizedSource) read(dst []byte, v views.View) error {
	if v.Len() == 0 {
		return nil
	}
	first, last := v.Bounds()
	axis := slices.IndexFunc(v.Shape, func(size int) bool { return size > 1 })
	if span := last - first + 1; axis >= 0 && span > 1<<16 && (span/4 > v.Len() || span > maxSpan) {
		half, size := v.Shape[axis]/2, v.Shape[axis]
		middle := v.Len() / size * half * 4
		return cmp.Or(q.read(dst[:middle], v.Narrow(axis, 0, half)), q.read(dst[middle:], v.Narrow(axis, half, size)))
	}
	n := q.block.elements
	elements, err := q.decode(first/n, last/n+1)
	if err != nil {
		return err
	}
	v.Offset -= first / n * n
	storage.Gather(dst, dtype.Bytes(elements), dtype.Float32, v)
	return nil
}

// decode returns the elements of blocks from first up to end.
func (q *quantizedSource) decode(first, end int) ([]float32, error) {
	size, n := q.block.size, q.block.elements
	b := make([]byte, (end-first)*size)
	if err := q.stored.ReadView(b, dtype.Uint8, views.View{Offset: first * size, Shape: []int{len(b)}, Stride: []int{1}}); err != nil {
		return nil, err
	}
	elements := make([]float32, (end-first)*n)
	for i := range end - first {
		q.block.decode(elements[i*n:][:n], b[i*size:][:size], q.order)
	}
	return elements, nil
}
