package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A window moves over three spatial axes. One or two axes have axes of size 1 in front
// of them, so that convolutions and pools of all ranks are one loop.
type window struct {
	size, stride, dilation [3]int
	padding                [3][2]int // before and after an axis
}

// windowOf returns the window of options that have one entry for each of rank axes.
// A zero stride becomes the default stride, or 1 if the default is zero too.
func windowOf(defaults, stride, dilation [3]int, padding [3][2]int, rank int, size []int) (w window, err error) {
	for axis := range 3 {
		w.size[axis], w.stride[axis], w.dilation[axis] = 1, 1, 1
	}
	for axis := range 3 {
		if axis >= rank {
			if stride[axis] != 0 || dilation[axis] != 0 || padding[axis] != [2]int{} {
				return w, fmt.Errorf("stride %v, dilation %v and padding %v have entries beyond the %d spatial axes: %w", stride, dilation, padding, rank, views.ErrShape)
			}
			continue
		}
		to := axis + 3 - rank
		w.size[to], w.padding[to] = size[axis], padding[axis]
		if w.stride[to] = stride[axis]; stride[axis] == 0 {
			w.stride[to] = max(defaults[axis], 1)
		}
		if dilation[axis] != 0 {
			w.dilation[to] = dilation[axis]
		}
	}
	return w, nil
}

// extent returns the number of elements from the first to the last of a window.
func (w *window) extent(axis int) int { return (w.size[axis]-1)*w.dilation[axis] + 1 }

// count returns how many positions the window has on an axis of that size. With ceil the
// last one may reach beyond the padding, as PyTorch's ceil_mode allows.
func (w *window) count(axis, size int, ceil bool) (int, error) {
	const most = 1 << 30 // so that sums fit 32 bits on GPUs
	k, s, d, pad := w.size[axis], w.stride[axis], w.dilation[axis], w.padding[axis]
	if k < 1 || s < 1 || d < 1 || min(pad[0], pad[1]) < 0 || max(size, k, s, d, pad[0], pad[1]) > most || k > most/d || size > most-pad[0]-pad[1] {
		return 0, fmt.Errorf("window %d, stride %d, dilation %d and padding %v are not valid: %w", k, s, d, pad, views.ErrShape)
	}
	room := size + pad[0] + pad[1] - w.extent(axis)
	if room < 0 {
		return 0, fmt.Errorf("a window of %d elements does not fit %d elements padded by %d: %w", w.extent(axis), size, pad[0]+pad[1], views.ErrShape)
	}
	n := room/s + 1
	if ceil && room%s != 0 && n*s < size+pad[0] { // the last window must begin in the image or in the padding before it
		n++
	}
	return n, nil
}

// taken calls visit with each element of the window at position i that is inside of an
// image of that size: where it is in the image and in the window.
func (w *window) taken(size, i [3]int, visit func(at, tap [3]int)) {
	eachPosition(w.size, func(tap [3]int) {
		var at [3]int
		for axis := range at {
			at[axis] = i[axis]*w.stride[axis] + tap[axis]*w.dilation[axis] - w.padding[axis][0]
			if at[axis] < 0 || at[axis] >= size[axis] {
				return
			}
		}
		visit(at, tap)
	})
}

// eachPosition calls visit with every position in a box of that size, row-major.
func eachPosition(size [3]int, visit func(i [3]int)) {
	for i := range size[0] {
		for j := range size[1] {
			for k := range size[2] {
				visit([3]int{i, j, k})
			}
		}
	}
}

// spatial returns an (N,C,…) array with axes of size 1 in front of its spatial ones, so
// that there are three.
func spatial(a *storage.Array) storage.Array { return withSpatial(a, 3) }

// withSpatial is spatial for the given number of axes.
func withSpatial(a *storage.Array, axes int) storage.Array {
	if a.Rank() >= 2+axes {
		return *a
	}
	shape, stride := make([]int, 2+axes), make([]int, 2+axes)
	for i := range shape {
		shape[i], stride[i] = 1, 1
	}
	copy(shape, a.Shape[:2])
	copy(stride, a.Stride[:2])
	copy(shape[4+axes-a.Rank():], a.Shape[2:])
	copy(stride[4+axes-a.Rank():], a.Stride[2:])
	return a.With(views.View{Offset: a.Offset, Shape: shape, Stride: stride})
}

// spatialStrides returns the strides of an (N,C,…) array with three spatial axes, where those in
// front that it lacks have size 1.
func spatialStrides(a *storage.Array) [5]int64 {
	s := [5]int64{int64(a.Stride[0]), int64(a.Stride[1]), 1, 1, 1}
	for axis := 2; axis < a.Rank(); axis++ {
		s[axis+5-a.Rank()] = int64(a.Stride[axis])
	}
	return s
}

// along returns the distance of a spatial position from the first.
func along(a storage.Array, i [3]int) int {
	return i[0]*a.Stride[2] + i[1]*a.Stride[3] + i[2]*a.Stride[4]
}

// each calls visit with the position of every element of an (N,C,…) array, and its channel.
func each(a *storage.Array, visit func(at, c int)) {
	s := spatial(a)
	for n := range s.Shape[0] {
		for c := range s.Shape[1] {
			first := s.Offset + n*s.Stride[0] + c*s.Stride[1]
			eachPosition([3]int(s.Shape[2:]), func(i [3]int) { visit(first+along(s, i), c) })
		}
	}
}
