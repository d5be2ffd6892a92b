package blocks

import (
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Grid divides a shape into boxes of a size, in row-major order. The last along an axis may be smaller.
func Grid(shape, size []int) iter.Seq[views.Box] {
	return func(yield func(views.Box) bool) {
		n, box := GridBoxes(shape, size)
		for k := range n {
			if !yield(box(k)) {
				return
			}
		}
	}
}

// GridBoxes returns the number of boxes of a [Grid], and a function that returns one of them.
func GridBoxes(shape, size []int) (n int, box func(k int) views.Box) {
	counts, ones := make([]int, len(shape)), slices.Repeat([]int{1}, len(shape))
	n = 1
	for axis, extent := range shape {
		if extent == 0 {
			return 0, nil
		}
		counts[axis] = (extent + size[axis] - 1) / size[axis]
		n *= counts[axis]
	}
	return n, func(k int) views.Box {
		start, count := Index(k, counts), make([]int, len(shape))
		for axis := range start {
			start[axis] *= size[axis]
			count[axis] = min(size[axis], shape[axis]-start[axis])
		}
		return views.Box{Start: start, Count: count, Step: ones}
	}
}

// BoxShape returns the size of boxes of whole units, such as chunks, that divide a shape: of n
// elements at most, but at least one unit. Units are added along the last axes first.
func BoxShape(shape, unit []int, n int) []int {
	count, volume := slices.Clone(unit), 1
	for _, size := range unit {
		volume *= size
	}
	for axis := len(shape) - 1; axis >= 0; axis-- {
		units := (shape[axis] + unit[axis] - 1) / unit[axis]
		fit := max(1, min(units, n/volume))
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

// Units returns, for each axis of a, how many indices are in a chunk of its storage: 1 where
// there are no chunks, or none that are along the axis.
func Units(a storage.Array) []int {
	unit := slices.Repeat([]int{1}, a.Rank())
	source, ok := a.Data.(storage.Chunked)
	if !ok || len(source.ChunkShape()) != len(source.Shape()) {
		return unit
	}
	whole := views.Of(source.Shape()...)
	for axis, stride := range a.Stride {
		stride = abs(stride)
		k := slices.IndexFunc(whole.Stride, func(s int) bool { return s <= stride })
		if stride > 0 && k >= 0 && stride%whole.Stride[k] == 0 {
			unit[axis] = max(1, min(a.Shape[axis], source.ChunkShape()[k]/(stride/whole.Stride[k])))
		}
	}
	return unit
}
