package hdf5

import (
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// blockBytes is how much of an array is held in memory at once by each
// goroutine that writes it.
const blockBytes = 8 << 20

// A hyperslab is a part of a grid: count elements along each axis from start on.
type hyperslab struct{ start, count []int }

// subview returns the part of v that lies in a box.
func subview(v views.View, start, count []int) views.View {
	w := views.View{Offset: v.Offset, Shape: count, Stride: v.Stride}
	for axis, at := range start {
		w.Offset += at * v.Stride[axis]
	}
	return w
}

// blockShape returns the shape of as many units as hold at most budget elements,
// at least one, taken together along the last axes first and cut to shape.
func blockShape(shape, unit []int, budget int) []int {
	count, volume := slices.Clone(unit), 1
	for _, n := range unit {
		volume *= n
	}
	for axis := len(shape) - 1; axis >= 0; axis-- {
		units := (shape[axis] + unit[axis] - 1) / unit[axis]
		fit := max(1, min(units, budget/volume))
		count[axis] *= fit
		volume *= fit
		if fit < units {
			break
		}
	}
	for axis := range count {
		count[axis] = min(count[axis], shape[axis])
	}
	return count
}

// hyperslabs cuts a grid, which must not be empty, into boxes of whole units, in
// row-major order. With units of one element each box is a run of the grid.
func hyperslabs(shape, unit []int, budget int) iter.Seq[hyperslab] {
	size := blockShape(shape, unit, budget)
	return func(yield func(hyperslab) bool) {
		at := make([]int, len(shape))
		for {
			count := make([]int, len(shape))
			for axis := range count {
				count[axis] = min(size[axis], shape[axis]-at[axis])
			}
			if !yield(hyperslab{slices.Clone(at), count}) || !next(at, shape, size) {
				return
			}
		}
	}
}

// next moves at to the following box of a grid, or reports that it was the last.
func next(at, shape, size []int) bool {
	for axis := len(at) - 1; axis >= 0; axis-- {
		if at[axis] += size[axis]; at[axis] < shape[axis] {
			return true
		}
		at[axis] = 0
	}
	return false
}

// bytesOf returns a's elements in row-major order, in host memory that will not
// vanish; those of a row-major array there already are shared.
func bytesOf(a storage.Array) ([]byte, error) {
	a, err := a.To(storage.CPU)
	if err != nil {
		return nil, err
	}
	size := a.Type.Size()
	return a.Data.(storage.Host).Bytes()[a.Offset*size : (a.Offset+a.Len())*size], nil
}

// parallel calls f for every item, on as many goroutines as there are
// processors, until one fails.
func parallel[T any](items iter.Seq[T], f func(T) error) error {
	var (
		workers sync.WaitGroup
		once    sync.Once
		failed  = make(chan struct{})
		first   error
		queue   = make(chan T)
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for item := range queue {
				if err := f(item); err != nil {
					once.Do(func() { first = err; close(failed) })
					return
				}
			}
		})
	}
feeding:
	for item := range items {
		select {
		case queue <- item:
		case <-failed:
			break feeding
		}
	}
	close(queue)
	workers.Wait()
	return first
}
