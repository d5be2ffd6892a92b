package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Sizes of padding are pairs, for the places before and after an axis, from the last axis on, as PyTorch's pad takes
// them: (2, 0) pads the last axis at its front, (0, 0, 1, 1) the last but one at both ends. Axes without a pair stay.

// PadConstant returns x with elements of a value, a Go number, around it. Negative sizes cut elements off.
func (x *Tensor) PadConstant(value any, sizes ...int) *Tensor {
	pads := x.pads("pad", sizes)
	shape := slices.Clone(x.Shape())
	for axis, pad := range pads {
		cut := [2]int{max(0, -pad[0]), max(0, -pad[1])}
		if cut[0]+cut[1] > shape[axis] {
			fail("pad", ErrShape, "%d elements cut off an axis of %d", cut[0]+cut[1], shape[axis])
		}
		if cut != [2]int{} {
			x = x.Slice(axis, cut[0], shape[axis]-cut[1], 1)
		}
		pads[axis] = [2]int{max(0, pad[0]), max(0, pad[1])}
		shape[axis] = x.Shape()[axis] + pads[axis][0] + pads[axis][1]
	}
	part := func(v views.View) (views.View, error) {
		for axis, pad := range pads {
			v = v.Narrow(axis, pad[0], v.Shape[axis]-pad[1])
		}
		return v, nil
	}
	number, err := storage.Read[float64](numberOf("pad", value))
	check("pad", err)
	return Apply(unslice{views.Of(shape...), part, number[0]}, x)
}

// PadEdge returns x with its outermost elements repeated around it: PyTorch's mode "replicate".
func (x *Tensor) PadEdge(sizes ...int) *Tensor {
	return x.padBy("pad edge", sizes, func(i, n int) int { return min(max(i, 0), n-1) })
}

// PadReflect returns x with its elements mirrored at its outermost elements, which are not repeated.
func (x *Tensor) PadReflect(sizes ...int) *Tensor {
	return x.padBy("pad reflect", sizes, func(i, n int) int {
		if n == 1 {
			return 0
		}
		if i = (i%(2*n-2) + 2*n - 2) % (2*n - 2); i >= n {
			i = 2*n - 2 - i
		}
		return i
	})
}

// PadWrap returns x as if it repeated without end: PyTorch's mode "circular".
func (x *Tensor) PadWrap(sizes ...int) *Tensor {
	return x.padBy("pad wrap", sizes, func(i, n int) int { return (i%n + n) % n })
}

// padBy returns x with the elements source(i, n) for i from before 0 to after an axis of n.
func (x *Tensor) padBy(act string, sizes []int, source func(i, n int) int) *Tensor {
	for axis, pad := range x.pads(act, sizes) {
		n := x.Shape()[axis]
		if pad == [2]int{} {
			continue
		}
		if n == 0 || n+pad[0]+pad[1] < 0 {
			fail(act, ErrShape, "%d and %d elements around an axis of %d", pad[0], pad[1], n)
		}
		index := make([]int64, n+pad[0]+pad[1])
		for i := range index {
			index[i] = int64(source(i-pad[0], n))
		}
		x = x.selectRows(axis, index)
	}
	return x
}

// pads returns sizes by axis, from the first on.
func (x *Tensor) pads(act string, sizes []int) [][2]int {
	if len(sizes)%2 != 0 || len(sizes) > 2*x.Rank() {
		fail(act, ErrShape, "%d sizes for %v; want pairs, from the last axis on", len(sizes), x.Shape())
	}
	pads := make([][2]int, x.Rank())
	for i := 0; i < len(sizes); i += 2 {
		pads[x.Rank()-1-i/2] = [2]int{sizes[i], sizes[i+1]}
	}
	return pads
}

var (
	_ = samples.Register("pad constant", unary(func(x *Tensor) *Tensor { return x.PadConstant(1.5, 2, -1, 0, 1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("pad edge", unary(func(x *Tensor) *Tensor { return x.PadEdge(2, 1) }), samples.In(2, 3).Rows())
	_ = samples.Register("pad reflect", unary(func(x *Tensor) *Tensor { return x.PadReflect(2, 1) }), samples.In(2, 4).Rows())
	_ = samples.Register("pad wrap", unary(func(x *Tensor) *Tensor { return x.PadWrap(1, 3) }), samples.In(2, 4).Rows())
)
