package tensor

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// viewOp is embedded by operations that only change the view. They are made by view, not
// by Apply: there is nothing to compute.
type viewOp struct{}

func (viewOp) Infer(in []Spec) []Spec                                   { return in }
func (viewOp) Forward(*Context, []storage.Array, []storage.Array) error { return nil }

// Transpose reorders axes: axis k of the result is axis order[k] of x. Without
// an order it reverses them.
func (x *Tensor) Transpose(order ...int) *Tensor {
	if len(order) == 0 {
		for axis := range x.Shape() {
			order = append([]int{axis}, order...)
		}
	}
	v, err := x.array.View.Transpose(order...)
	check("transpose", err)
	return view(transpose{order: order}, x, v)
}

// T swaps the last two axes.
func (x *Tensor) T() *Tensor {
	if x.Rank() < 2 {
		fail("T", ErrShape, "of %v; want at least two axes", x.Shape())
	}
	order := make([]int, x.Rank())
	for axis := range order {
		order[axis] = axis
	}
	n := len(order)
	order[n-1], order[n-2] = order[n-2], order[n-1]
	return x.Transpose(order...)
}

type transpose struct {
	viewOp
	order []int
}

func (transpose) Name() string { return "transpose" }

func (op transpose) Backward(out, grads, in []*Tensor) []*Tensor {
	back := make([]int, len(op.order))
	for k, axis := range op.order {
		back[axis] = k
	}
	return []*Tensor{grads[0].Transpose(back...)}
}

// Broadcast returns x broadcast to shape: axes of size 1 and new leading ones repeat.
func (x *Tensor) Broadcast(shape ...int) *Tensor {
	v, ok := x.array.View.Broadcast(shape...)
	if !ok {
		fail("broadcast", ErrShape, "%v does not broadcast to %v", x.Shape(), shape)
	}
	return view(broadcast{}, x, v)
}

type broadcast struct{ viewOp }

func (broadcast) Name() string { return "broadcast" }

func (broadcast) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{grads[0].sumTo(in[0].Shape())}
}

var (
	_ = samples.Register("transpose", unary(func(x *Tensor) *Tensor { return x.Transpose(2, 0, 1) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("T", unary((*Tensor).T), samples.In(2, 3, 4).Rows())
	_ = samples.Register("broadcast", unary(func(x *Tensor) *Tensor { return x.Broadcast(2, x.Shape()[0], 4) }), samples.In(3, 1).Rows())
)
