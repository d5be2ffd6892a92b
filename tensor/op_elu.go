package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// ELU returns scale·x where x > 0 and scale·alpha·(exp(x) − 1) elsewhere. Its derivative at 0
// is scale·alpha, as PyTorch's is.
func (x *Tensor) ELU(alpha, scale float64) *Tensor {
	return Apply(elu{kernels.ELUOptions{Alpha: alpha, Scale: scale}}, x)
}

type elu struct{ kernels.ELUOptions }

func (elu) Name() string { return kernels.ELU.Name }

// Pointwise implements [PointwiseOp].
func (elu) Pointwise() {}

func (op elu) Infer(in []Spec) []Spec { return likeFloat(op.Name(), in[0]) }

func (op elu) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.ELU, op.ELUOptions, out, in...)
}

func (op elu) Backward(out, grads, in []*Tensor) []*Tensor {
	x, dy := in[0], grads[0]
	if dy.noGrad {
		return []*Tensor{runKernel(kernels.ELUGrad, op.ELUOptions, like(x), x, dy)}
	}
	positive := x.Gt(x.constant(0))
	low := Where(positive, x.constant(0), x) // whose exponential is finite
	return []*Tensor{Where(positive, dy.MulScalar(op.Scale), dy.Mul(low.Exp()).MulScalar(op.Alpha*op.Scale))}
}

var _ = samples.Register("elu", unary(func(x *Tensor) *Tensor { return x.ELU(1.5, 0.75) }), samples.In(3, 4).Rows())
