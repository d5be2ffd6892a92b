package tensor

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// ResizeNearest returns x with other sizes of its last axes: element i of n along an axis that has m elements in x is
// element ⌊i·m/n⌋, as in PyTorch's interpolate with mode "nearest".
func (x *Tensor) ResizeNearest(sizes ...int) *Tensor {
	split, repeated, result := []int{}, []int{}, slices.Clone(x.Shape()) // for the axes whose elements are repeated
	first := x.Rank() - len(sizes)
	for axis, m := range x.Shape() {
		split, repeated = append(split, m), append(repeated, m)
		if axis < first {
			continue
		}
		n := x.resized("resize nearest", axis-first, sizes)
		if n%m == 0 {
			split, repeated, result[axis] = append(split, 1), append(repeated, n/m), n
		}
	}
	if !slices.Equal(split, repeated) {
		x = x.Reshape(split...).Expand(repeated...).Contiguous().Reshape(result...)
	}
	for i, n := range sizes {
		if m := x.Shape()[first+i]; m != n {
			index := make([]int64, n)
			for k := range index {
				index[k] = int64(k * m / n)
			}
			x = x.selectRows(first+i, index)
		}
	}
	return x
}

// ResizeLinear returns x with other sizes of its last axes: element i of n along an axis that has m elements in x lies
// at (i + ½)·m/n − ½ between two of them, or at i·(m − 1)/(n − 1) if the first and last elements are to stay at the
// corners. It is PyTorch's interpolate with mode "linear", "bilinear" or "trilinear".
func (x *Tensor) ResizeLinear(alignCorners bool, sizes ...int) *Tensor {
	for i := range sizes {
		n, axis := x.resized("resize linear", i, sizes), x.Rank()-len(sizes)+i
		m := x.Shape()[axis]
		if m == n {
			continue
		}
		low, high, part := make([]int64, n), make([]int64, n), make([]float64, n)
		for i := range n {
			var at float64
			switch {
			case !alignCorners:
				at = min(max((float64(i)+0.5)*float64(m)/float64(n)-0.5, 0), float64(m-1))
			case n > 1:
				at = float64(i) * float64(m-1) / float64(n-1)
			}
			low[i], high[i], part[i] = int64(at), int64(min(int(at)+1, m-1)), at-math.Floor(at)
		}
		shape := make([]int, x.Rank()-axis)
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = n
		weight := x.onDevice(storage.From(part, n)).Cast(x.DType()).Reshape(shape...)
		first := x.selectRows(axis, low)
		x = first.Add(x.selectRows(axis, high).Sub(first).Mul(weight))
	}
	return x
}

// resized returns the size with index i, and fails unless it and its axis have elements.
func (x *Tensor) resized(act string, i int, sizes []int) int {
	axis := x.Rank() - len(sizes) + i
	if axis < 0 || sizes[i] < 1 || x.Shape()[axis] < 1 {
		fail(act, ErrShape, "sizes %v of %v; want at least 1 for each of the last axes", sizes, x.Shape())
	}
	return sizes[i]
}

var (
	_ = samples.Register("resize nearest", unary(func(x *Tensor) *Tensor { return x.ResizeNearest(6, 3) }), samples.In(1, 2, 3, 4))
	_ = samples.Register("resize linear", unary(func(x *Tensor) *Tensor { return x.ResizeLinear(false, 6, 3) }), samples.In(1, 2, 3, 4))
	_ = samples.Register("resize linear corners", unary(func(x *Tensor) *Tensor { return x.ResizeLinear(true, 5, 7) }), samples.In(1, 2, 3, 4))
)
