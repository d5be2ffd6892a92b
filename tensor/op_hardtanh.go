package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Hardtanh returns x limited to low and high, elementwise. Its derivative is 1 between the
// limits and 0 at them and beyond, as in PyTorch.
func (x *Tensor) Hardtanh(low, high float64) *Tensor {
	return x.between(hardtanh{}, low, high)
}

func (x *Tensor) between(op hardtanh, low, high float64) *Tensor {
	modeOf(op.Name(), nil, nil, []*Tensor{x}) // refuses formats before types
	wantFloat(op.Name(), x.Spec())
	return Apply(op, x, x.constant(low), x.constant(high))
}

// hardtanh is its first operand limited to the second and third, which are constants. The gradient of
// NaN is 0 if stopsNaN, as Clamp's.
type hardtanh struct{ stopsNaN bool }

func (hardtanh) Name() string { return "hardtanh" }

// Pointwise implements [PointwiseOp].
func (hardtanh) Pointwise() {}

func (hardtanh) Infer(in []Spec) []Spec { return one(in[0].Type, views.Like(in[0].View)) }

func (hardtanh) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Clamp, nil, out, in...)
}

func (op hardtanh) Backward(out, grads, in []*Tensor) []*Tensor {
	x, low, high, dy := in[0].Detach(), in[1], in[2], grads[0]
	zero := dy.constant(0)
	if op.stopsNaN {
		return []*Tensor{Where(x.Gt(low).BitAnd(x.Lt(high)), dy, zero), nil, nil}
	}
	dx := Where(x.Le(low), zero, dy)
	return []*Tensor{Where(x.Ge(high), zero, dx), nil, nil}
}

var _ = samples.Register("hardtanh", unary(func(x *Tensor) *Tensor { return x.Hardtanh(-0.75, 0.5) }), samples.In(3, 4).Rows())
