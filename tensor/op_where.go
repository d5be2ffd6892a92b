package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Where returns x where cond holds and y elsewhere, broadcasting their shapes.
func Where(cond, x, y *Tensor) *Tensor {
	x, y = promoted("where", x, y)
	return Apply(where{}, cond, x, y)
}

type where struct{}

func (where) Name() string { return "where" }

// Pointwise implements [PointwiseOp].
func (where) Pointwise() {}

func (where) Infer(in []Spec) []Spec {
	if in[0].Type != dtype.Bool {
		fail("where", ErrType, "condition of %v; want bool", in[0].Type)
	}
	return one(in[1].Type, broadcastLayout("where", in[1], in[2], in[0]))
}

func (where) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Where, nil, out, broadcastTo(in[0], out[0].Shape), broadcastTo(in[1], out[0].Shape), broadcastTo(in[2], out[0].Shape))
}

func (where) Backward(out, grads, in []*Tensor) []*Tensor {
	cond, dz, zero := in[0], grads[0], grads[0].constant(0)
	return []*Tensor{
		nil,
		in[1].ifNeeded(func() *Tensor { return Where(cond, dz, zero).sumTo(in[1].Shape()) }),
		in[2].ifNeeded(func() *Tensor { return Where(cond, zero, dz).sumTo(in[2].Shape()) }),
	}
}

var (
	_ = samples.Register("where", func(in ...*Tensor) *Tensor { return Where(in[0], in[1], in[2]) }, samples.In(2, 3).Of(samples.Bools).Rows(), samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	_ = samples.Register("where", func(in ...*Tensor) *Tensor { return Where(in[0], in[1], in[2]) }, samples.In(3).Of(samples.Bools), samples.In(2, 1), samples.In())
)
