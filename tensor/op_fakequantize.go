package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// FakeQuantize returns the numbers that the integers stand for to which x is quantized: (clamp(round(x/scale) + zeroPoint, low, high) − zeroPoint)·scale,
// PyTorch's fake_quantize_per_tensor_affine, whose derivative is 1 where nothing is clamped and 0 elsewhere. Where x
// is the input of a convolution or product by weights of 8 bits, a [Program] computes with the integers.
func (x *Tensor) FakeQuantize(scale float64, zeroPoint, low, high int) *Tensor {
	op := fakeQuantize{}
	modeOf(op.Name(), nil, nil, []*Tensor{x}) // refuses formats before types
	wantFloat(op.Name(), x.Spec())
	if !(scale > 0) || low > high {
		fail(op.Name(), ErrState, "scale %v, integers from %d to %d; want a positive scale, and the lower limit first", scale, low, high)
	}
	if t := x.DType(); t.Size() < 4 { // whose numbers end before the integers do
		return x.Cast(dtype.Float32).FakeQuantize(scale, zeroPoint, low, high).Cast(t)
	}
	return Apply(op, x, x.constant(scale), x.constant(float64(low-zeroPoint)), x.constant(float64(high-zeroPoint)))
}

// fakeQuantize is its first operand as multiples of the second, from the third to the fourth, which are constants.
type fakeQuantize struct{}

func (fakeQuantize) Name() string { return "fake quantize" }

// Pointwise implements [PointwiseOp].
func (fakeQuantize) Pointwise() {}

func (fakeQuantize) Infer(in []Spec) []Spec { return one(in[0].Type, views.Like(in[0].View)) }

func (fakeQuantize) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Div, nil, out, in[0], in[1]); err != nil {
		return err
	}
	if err := c.Run(kernels.Round, nil, out, out[0]); err != nil {
		return err
	}
	if err := c.Run(kernels.Clamp, nil, out, out[0], in[2], in[3]); err != nil {
		return err
	}
	return c.Run(kernels.Mul, nil, out, out[0], in[1])
}

func (fakeQuantize) Backward(out, grads, in []*Tensor) []*Tensor {
	x, scale, low, high, dy := in[0].Detach(), in[1], in[2], in[3], grads[0]
	q := x.Div(scale).Round()
	return []*Tensor{Where(q.Ge(low).BitAnd(q.Le(high)), dy, dy.constant(0)), nil, nil, nil}
}

var _ = samples.Register("fake quantize", unary(func(x *Tensor) *Tensor {
	return x.FakeQuantize(0x1p-40, 0, -1<<52, 1<<52) // by a scale to which finite differences are large
}), samples.In(3, 4).Rows())
