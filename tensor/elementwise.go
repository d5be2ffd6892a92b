package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// unaryOp is the family of operations y[i] = f(x[i]).
type unaryOp struct {
	f *kernels.Kernel
	// grad returns dx from dy and whichever of x and y is simpler.
	grad func(x, y, dy *Tensor) *Tensor
}

func (op unaryOp) Name() string { return op.f.Name }

// Pointwise implements [PointwiseOp].
func (unaryOp) Pointwise() {}

func (op unaryOp) Infer(in []Spec) []Spec {
	return one(in[0].Type, views.Like(in[0].View))
}

func (op unaryOp) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(op.f, nil, out, in...)
}

func (op unaryOp) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{op.grad(in[0], out[0], grads[0])}
}

// floating returns x, but integers and bools as float32: functions with results of floats take them, as PyTorch's do.
func (x *Tensor) floating() *Tensor {
	if x == nil || x.format != nil || !x.DType().IsInt() && x.DType() != dtype.Bool {
		return x
	}
	return x.Cast(dtype.Float32)
}

// reads says whether a derivative is an expression of the result or of the operand; a test of all
// registered samples overwrites the other.
func (op unaryOp) reads([]*Tensor) (operands uint64, results bool) {
	switch op.f {
	case kernels.Neg:
		return 0, false
	case kernels.Exp, kernels.Exp2, kernels.Expm1, kernels.Sqrt, kernels.ReLU, kernels.Tanh, kernels.Sigmoid, kernels.Tan, kernels.Erfinv:
		return 0, true
	}
	return 1, false
}

// pointwise is f of floats, with the gradient grad.
func (x *Tensor) pointwise(f *kernels.Kernel, grad func(x, y, dy *Tensor) *Tensor) *Tensor {
	return x.ToFloat32().floating().unary(f, grad)
}

// unary is f of x in the type of x, with the gradient grad.
func (x *Tensor) unary(f *kernels.Kernel, grad func(x, y, dy *Tensor) *Tensor) *Tensor {
	if x != nil && x.DType().IsComplex() {
		return complexUnary(f, x)
	}
	return Apply(unaryOp{f, grad}, x)
}

// registerUnary registers a method of one operand, drawn from kind.
func registerUnary(name string, f func(x *Tensor) *Tensor, kind samples.Kind) bool {
	return samples.Register(name, unary(f), samples.In(3, 4).Of(kind).Rows())
}

// unary makes a method of one operand what samples.Register takes.
func unary(f func(x *Tensor) *Tensor) func(in ...*Tensor) *Tensor {
	return func(in ...*Tensor) *Tensor { return f(in[0]) }
}
