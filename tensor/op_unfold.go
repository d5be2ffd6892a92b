package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Unfold returns the windows of size elements along axis, step apart: axis counts the
// windows, and a new last axis the elements of each. Windows may overlap; they share x's
// memory.
func (x *Tensor) Unfold(axis, size, step int) *Tensor {
	axis = x.axis("unfold", axis)
	v, err := x.array.SlidingWindow(axis, size, step)
	check("unfold", err)
	return view(unfold{axis: axis, size: size, step: step}, x, v)
}

type unfold struct {
	viewOp
	axis, size, step int
}

func (unfold) Name() string { return "unfold" }

func (op unfold) Backward(out, grads, in []*Tensor) []*Tensor {
	sum := func(x *Tensor) *Tensor { return Apply(fold{op, views.Of(in[0].Shape()...)}, x) }
	if dy := grads[0]; dy.DType().IsComplex() {
		return []*Tensor{Complex(sum(dy.Real()), sum(dy.Imag()))}
	}
	return []*Tensor{sum(grads[0])}
}

// fold adds up the elements of the windows in each place of whole.
type fold struct {
	windows unfold
	whole   views.View
}

func (fold) Name() string { return "fold" }

func (op fold) Infer(in []Spec) []Spec { return one(in[0].Type, op.whole) }

func (op fold) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Fill, kernels.FillOptions{}, out); err != nil {
		return err
	}
	windows, err := out[0].SlidingWindow(op.windows.axis, op.windows.size, op.windows.step)
	if err != nil {
		return err
	}
	last := windows.Rank() - 1
	for k := range op.windows.size { // windows do not overlap in their k-th elements
		to, err := windows.Select(last, k)
		if err != nil {
			return err
		}
		from, err := in[0].Select(last, k)
		if err != nil {
			return err
		}
		sum := out[0].With(to)
		if err := c.Run(kernels.Add, nil, []storage.Array{sum}, sum, in[0].With(from)); err != nil {
			return err
		}
	}
	return nil
}

func (op fold) Backward(out, grads, in []*Tensor) []*Tensor {
	w := op.windows
	return []*Tensor{grads[0].Unfold(w.axis, w.size, w.step)}
}

var _ = samples.Register("unfold", unary(func(x *Tensor) *Tensor { return x.Unfold(1, 3, 2) }), samples.In(2, 8).Rows())
