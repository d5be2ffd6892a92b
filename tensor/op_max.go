package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Max returns the largest element along axes (see [KeepDims]), or of all if none are named. Its
// gradient is shared evenly by elements that are equally large.
func (x *Tensor) Max(axes ...int) *Tensor { return reduce(kernels.Max, x, axes, maxGrad) }

// Min returns the smallest element along axes (see [KeepDims]), or of all if none are named. Its
// gradient is shared evenly by elements that are equally small.
func (x *Tensor) Min(axes ...int) *Tensor { return reduce(kernels.Min, x, axes, maxGrad) }

// AMax is Max.
func (x *Tensor) AMax(axes ...int) *Tensor { return x.Max(axes...) }

// AMin is Min.
func (x *Tensor) AMin(axes ...int) *Tensor { return x.Min(axes...) }

func maxGrad(x, y, dy *Tensor) *Tensor {
	if dy.noGrad {
		return runKernel(kernels.MaxGrad, nil, like(x), x, y, dy)
	}
	largest := x.Eq(y).Cast(x.DType())
	axes := []int{}
	for axis, size := range x.Shape() {
		if y.Shape()[axis] != size {
			axes = append(axes, axis)
		}
	}
	if len(axes) == 0 {
		return dy
	}
	return largest.Mul(dy.Div(largest.Sum(append(axes, KeepDims)...)))
}

var (
	_ = samples.Register("max", unary(func(x *Tensor) *Tensor { return x.Max() }), samples.In(2, 3).Of(samples.Distinct))
	_ = samples.Register("max 0", unary(func(x *Tensor) *Tensor { return x.Max(0) }), samples.In(2, 3, 4).Of(samples.Distinct))
	_ = samples.Register("max -1", unary(func(x *Tensor) *Tensor { return x.Max(-1, KeepDims) }), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
)

// ArgMax returns the index along an axis of the largest element, the first of several, as
// int64. Along several axes, or all if none are named, it is the index among their elements in row-major
// order. See [KeepDims].
func (x *Tensor) ArgMax(axes ...int) *Tensor {
	lines, finish := x.joined("argmax", axes)
	axis := lines.Rank() - 1
	return finish(Apply(argmax{axis}, lines).dropAxes([]int{axis}))
}

// ArgMin is [Tensor.ArgMax] of the smallest element.
func (x *Tensor) ArgMin(axes ...int) *Tensor { return x.reversed().ArgMax(axes...) }

type argmax struct{ axis int }

func (argmax) Name() string { return "argmax" }

func (op argmax) Infer(in []Spec) []Spec {
	if in[0].Shape[op.axis] == 0 {
		fail("argmax", ErrShape, "axis %d of %v is empty", op.axis, in[0].Shape)
	}
	return one(dtype.Int64, reduction{kernels.ArgMax, []int{op.axis}, nil}.Infer(in)[0].View)
}

func (op argmax) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.ArgMax, nil, out, in...)
}

func (argmax) Backward(out, grads, in []*Tensor) []*Tensor { return []*Tensor{nil} }

var (
	_ = samples.Register("min", unary(func(x *Tensor) *Tensor { return x.Min() }), samples.In(2, 3).Of(samples.Distinct))
	_ = samples.Register("min 0", unary(func(x *Tensor) *Tensor { return x.AMin(0) }), samples.In(2, 3, 4).Of(samples.Distinct))
	_ = samples.Register("min -1", unary(func(x *Tensor) *Tensor { return x.Min(-1, KeepDims) }), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
	_ = samples.Register("amax", unary(func(x *Tensor) *Tensor { return x.AMax(0, 2) }), samples.In(2, 3, 4).Of(samples.Distinct))
	_ = samples.Register("argmax all", unary(func(x *Tensor) *Tensor { return x.ArgMax() }), samples.In(5, 4).Of(samples.Distinct))
	_ = samples.Register("argmax 0,2", unary(func(x *Tensor) *Tensor { return x.ArgMax(0, 2, KeepDims) }), samples.In(2, 3, 4).Of(samples.Distinct))
	_ = samples.Register("argmin", unary(func(x *Tensor) *Tensor { return x.ArgMin(-1) }), samples.In(5, 4).Of(samples.Distinct).Rows())
)

var _ = samples.Register("argmax", unary(func(x *Tensor) *Tensor { return x.ArgMax(-1) }), samples.In(5, 4).Of(samples.Distinct).Rows())
