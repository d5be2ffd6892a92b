package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// viewOp is embedded by operations that only change the view. They are made by view, not
// by Apply: there is nothing to compute.
type viewOp struct{}

func (viewOp) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (viewOp) Infer(in []Spec) []Spec                                   { return in }
func (viewOp) Forward(*Context, []storage.Array, []storage.Array) error { return nil }

// Permute reorders axes: axis k of the result is axis order[k] of x, sharing x's memory.
// Without an order it reverses them.
func (x *Tensor) Permute(order ...int) *Tensor {
	if len(order) == 0 {
		for axis := range x.Shape() {
			order = append([]int{axis}, order...)
		}
	}
	v, err := x.array.View.Transpose(order...)
	check("permute", err)
	return view(permute{order: order}, x, v)
}

// Transpose swaps the axes a and b, sharing x's memory.
func (x *Tensor) Transpose(a, b int) *Tensor {
	a, b = x.axis("transpose", a), x.axis("transpose", b)
	order := make([]int, x.Rank())
	for axis := range order {
		order[axis] = axis
	}
	order[a], order[b] = order[b], order[a]
	return x.Permute(order...)
}

// MoveAxis returns x with an axis moved to another place, the others in their order, sharing x's memory.
func (x *Tensor) MoveAxis(from, to int) *Tensor {
	from, to = x.axis("move axis", from), x.axis("move axis", to)
	order := slices.Delete(sameAxes(x.Rank()), from, from+1)
	return x.Permute(slices.Insert(order, to, from)...)
}

// SwapAxes is NumPy's name of Transpose.
func (x *Tensor) SwapAxes(a, b int) *Tensor { return x.Transpose(a, b) }

// T swaps the last two axes.
func (x *Tensor) T() *Tensor {
	if x.Rank() < 2 {
		fail("T", ErrShape, "of %v; want at least two axes", x.Shape())
	}
	return x.Transpose(-2, -1)
}

type permute struct {
	viewOp
	order []int
}

func (permute) Name() string { return "permute" }

func (op permute) Backward(out, grads, in []*Tensor) []*Tensor {
	back := make([]int, len(op.order))
	for k, axis := range op.order {
		back[axis] = k
	}
	return []*Tensor{grads[0].Permute(back...)}
}

// Expand returns x broadcast to shape, sharing x's memory: axes of size 1 and new leading ones
// repeat. A size of -1 is that axis's own.
func (x *Tensor) Expand(shape ...int) *Tensor {
	shape = slices.Clone(shape)
	for i := range shape {
		if from := i - len(shape) + x.Rank(); shape[i] == -1 && from >= 0 {
			shape[i] = x.Shape()[from]
		}
	}
	v, ok := x.array.View.Broadcast(shape...)
	if !ok {
		fail("expand", ErrShape, "%v does not broadcast to %v", x.Shape(), shape)
	}
	return view(expand{}, x, v)
}

type expand struct{ viewOp }

func (expand) Name() string { return "expand" }

func (expand) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].sumTo(in[0].Shape())}
}

var (
	_ = samples.Register("transpose", unary(func(x *Tensor) *Tensor { return x.Transpose(0, -1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("permute", unary(func(x *Tensor) *Tensor { return x.Permute(2, 0, 1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("move axis", unary(func(x *Tensor) *Tensor { return x.MoveAxis(0, -1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("T", unary((*Tensor).T), samples.In(2, 3, 4).Rows())
	_ = samples.Register("expand", unary(func(x *Tensor) *Tensor { return x.Expand(2, -1, 4) }), samples.In(3, 1).Rows())
)
