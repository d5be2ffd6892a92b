package gguf

import (
	"encoding/binary"
	"fmt"

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

// read decodes the blocks from the first element of v to the last, unless these are many
// more than v selects; then each index of the first axis by itself.
func (q *quantizedSource) read(dst []byte, v views.View) error {
	if v.Len() == 0 {
		return nil
	}
	first, last := v.Bounds()
	if span := last - first + 1; span > 1<<16 && (span/4 > v.Len() || span > maxSpan) && v.Rank() > 0 {
		part := len(dst) / v.Shape[0]
		if v.Rank() == 1 && v.Shape[0] > 1 {
			return q.halves(dst, v)
		}
		for i := range v.Shape[0] {
			row, err := v.Select(0, i)
			if err == nil {
				err = q.read(dst[i*part:][:part], row)
			}
			if err != nil {
				return err
			}
		}
		return nil
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

// maxSpan is how many elements are decoded at a time.
const maxSpan = 4 << 20

// halves reads a view of one axis in two parts.
func (q *quantizedSource) halves(dst []byte, v views.View) error {
	n := v.Shape[0]
	for _, part := range [][2]int{{0, n / 2}, {n / 2, n}} {
		w, err := v.Slice(0, part[0], part[1], 1)
		if err == nil {
			err = q.read(dst[part[0]*4:part[1]*4], w)
		}
		if err != nil {
			return err
		}
	}
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
