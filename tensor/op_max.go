package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Max returns the largest element along axes, or of all if none are named. Its
// gradient is shared evenly by elements that are equally large.
func (x *Tensor) Max(axes ...int) *Tensor { return reduce(kernels.Max, x, axes, false, maxGrad) }

// MaxKeep is Max with the axes kept, of size 1.
func (x *Tensor) MaxKeepDims(axes ...int) *Tensor { return reduce(kernels.Max, x, axes, true, maxGrad) }

func maxGrad(x, y, dy *Tensor) *Tensor {
	return runKernel(kernels.MaxSlope, nil, like(x), x, y, dy)
}

var (
	_ = Register("max", unary(func(x *Tensor) *Tensor { return x.Max() }), In(2, 3).Of(Distinct))
	_ = Register("max 0", unary(func(x *Tensor) *Tensor { return x.Max(0) }), In(2, 3, 4).Of(Distinct))
	_ = Register("max -1", unary(func(x *Tensor) *Tensor { return x.MaxKeepDims(-1) }), In(2, 3, 4).Of(Distinct).Rows())
)

// ArgMax returns where along axis the largest element lies, the first of
// several, as int64; the axis is dropped.
func (x *Tensor) ArgMax(axis int) *Tensor {
	axis = x.axis("argmax", axis)
	return Apply(argmax{axis}, x).dropAxes([]int{axis})
}

type argmax struct{ axis int }

func (argmax) Name() string { return "argmax" }

func (op argmax) Infer(in ...*Tensor) (dtype.Type, views.View) {
	if in[0].Shape[op.axis] == 0 {
		fail("argmax", ErrShape, "axis %d of %v is empty", op.axis, in[0].Shape)
	}
	_, v := reduction{kernels.ArgMax, []int{op.axis}, nil}.Infer(in...)
	return dtype.Int64, v
}

func (op argmax) Forward(w *Context, y storage.Array, in ...storage.Array) error {
	return w.Run(kernels.ArgMax, nil, []storage.Array{y}, in...)
}

func (argmax) Backward(_, _ *Tensor, _ ...*Tensor) []*Tensor { return []*Tensor{nil} }

var _ = Register("argmax", unary(func(x *Tensor) *Tensor { return x.ArgMax(-1) }), In(5, 4).Of(Distinct).Rows())
