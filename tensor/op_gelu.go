package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// GELU returns x·Φ(x), elementwise, where Φ is the distribution function of the
// standard normal distribution (Hendrycks and Gimpel, arXiv:1606.08415).
func (x *Tensor) GELU() *Tensor { return Apply(unaryOp{kernels.GELU, geluGrad}, x) }

// GELUTanh is GELU with Φ(x) approximated by (1 + tanh(√(2/π)·(x + 0.044715·x³)))/2.
func (x *Tensor) GELUTanh() *Tensor { return Apply(unaryOp{kernels.GELUTanh, geluTanhGrad}, x) }

func geluGrad(x, y, dy *Tensor) *Tensor { return Apply(geluBackward{}, x, dy) }

// geluBackward is dy·(Φ(x) + x·φ(x)) for operands x and dy, φ being Φ's derivative.
type geluBackward struct{}

func (geluBackward) Name() string { return "gelu grad" }

func (geluBackward) Infer(in []Spec) []Spec { return one(in[0].Type, views.Like(in[0].View)) }

func (geluBackward) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.GELUGrad, nil, out, in...)
}

func (geluBackward) Backward(_, grads, in []*Tensor) []*Tensor {
	x, dy, g := in[0], in[1], grads[0]
	return []*Tensor{
		x.ifNeeded(func() *Tensor {
			square := x.Mul(x)
			density := square.MulScalar(-0.5).Exp().MulScalar(1 / math.Sqrt(2*math.Pi))
			return g.Mul(dy).Mul(density).Mul(square.Neg().AddScalar(2))
		}),
		dy.ifNeeded(func() *Tensor { return Apply(geluBackward{}, x, g) }),
	}
}

func geluTanhGrad(x, y, dy *Tensor) *Tensor {
	if dy.noGrad {
		return runKernel(kernels.GELUTanhGrad, nil, like(y), x, dy)
	}
	const cubic = 0.044715
	slope, square := math.Sqrt(2/math.Pi), x.Mul(x)
	t := x.Mul(square.MulScalar(cubic).AddScalar(1)).MulScalar(slope).Tanh()
	inner := square.MulScalar(3 * cubic).AddScalar(1).MulScalar(slope / 2)
	return dy.Mul(t.AddScalar(1).MulScalar(0.5).Add(x.Mul(t.Mul(t).Neg().AddScalar(1)).Mul(inner)))
}

var (
	_ = samples.Register("gelu", unary((*Tensor).GELU), samples.In(3, 4).Rows())
	_ = samples.Register("gelu tanh", unary((*Tensor).GELUTanh), samples.In(3, 4).Rows())
)
