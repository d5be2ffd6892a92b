package hdf5write

import (
	"iter"

	grid "github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// blockBytes is the size of the blocks that each goroutine copies.
const blockBytes = 8 << 20

// A hyperslab is a block of a dataset: count elements along each axis, from start on.
type hyperslab struct{ start, count []int }

// subview returns the part of v that lies in a hyperslab.
func subview(v views.View, start, count []int) views.View {
	w := views.View{Offset: v.Offset, Shape: count, Stride: v.Stride}
	for axis, at := range start {
		w.Offset += at * v.Stride[axis]
	}
	return w
}

// hyperslabs divides a shape, which must not be empty, into blocks of whole units, in
// row-major order. With units of one element, each block is contiguous.
func hyperslabs(shape, unit []int, budget int) iter.Seq[hyperslab] {
	return func(yield func(hyperslab) bool) {
		for b := range grid.Grid(shape, grid.BoxShape(shape, unit, budget)) {
			if !yield(hyperslab{b.Start, b.Count}) {
				return
			}
		}
	}
}

// next advances at to the next block of a grid, and reports whether there is one.
func next(at, shape, size []int) bool {
	for axis := len(at) - 1; axis >= 0; axis-- {
		if at[axis] += size[axis]; at[axis] < shape[axis] {
			return true
		}
		at[axis] = 0
	}
	return false
}

// withBytes calls use with a's elements in row-major order, in host memory that is not a
// mapped file. The elements of an array that is stored so are not copied.
func withBytes(a storage.Array, use func(b []byte) error) error {
	if b, ok := a.Bytes(); ok {
		return use(b)
	}
	b := scratch.Get(a.NBytes())
	defer scratch.Put(b)
	if err := a.CopyTo(storage.Array{Data: storage.Wrap(b), Type: a.Type, View: views.Of(a.Shape...)}); err != nil {
		return err
	}
	return use(b)
}

// bytesOf returns a's elements in row-major order, in host memory that is not a mapped
// file. The elements of an array that is stored so are not copied.
func bytesOf(a storage.Array) (b []byte, err error) {
	a, err = a.To(storage.CPU)
	if err == nil {
		b, _ = a.Bytes()
	}
	return b, err
}
