package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Erf returns the error function of x, elementwise.
func (x *Tensor) Erf() *Tensor { return x.pointwise(kernels.Erf, erfGrad) }

func erfGrad(x, y, dy *Tensor) *Tensor {
	return dy.Mul(x.Square().Neg().Exp()).MulScalar(2 / math.Sqrt(math.Pi))
}

// Erfc returns 1 − Erf(x), elementwise, to the last digits also where that is small.
func (x *Tensor) Erfc() *Tensor { return x.pointwise(kernels.Erfc, erfcGrad) }

func erfcGrad(x, y, dy *Tensor) *Tensor { return erfGrad(x, y, dy).Neg() }

// The following are computed on the host only: move operands by CPU.

// Erfinv returns the number whose error function is x, elementwise.
func (x *Tensor) Erfinv() *Tensor { return x.pointwise(kernels.Erfinv, erfinvGrad) }

func erfinvGrad(x, y, dy *Tensor) *Tensor {
	return dy.Mul(y.Square().Exp()).MulScalar(math.Sqrt(math.Pi) / 2)
}

// Lgamma returns ln|Γ(x)|, elementwise.
func (x *Tensor) Lgamma() *Tensor { return x.pointwise(kernels.Lgamma, lgammaGrad) }

func lgammaGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(x.Digamma()) }

// Digamma returns the derivative of ln Γ at x, elementwise. It has a first derivative only.
func (x *Tensor) Digamma() *Tensor { return x.pointwise(kernels.Digamma, digammaGrad) }

func digammaGrad(x, y, dy *Tensor) *Tensor {
	if dy.noGrad {
		x = x.Detach()
	}
	return dy.Mul(runKernel(kernels.Trigamma, nil, like(x), x))
}

var (
	_ = registerUnary("erf", (*Tensor).Erf, samples.Normal)
	_ = registerUnary("erfc", (*Tensor).Erfc, samples.Normal)
	_ = samples.RegisterHostOnly("erfinv", unary(half((*Tensor).Erfinv)), samples.In(3, 4).Of(samples.Distinct).Rows())
	_ = samples.RegisterHostOnly("lgamma", unary((*Tensor).Lgamma), samples.In(3, 4).Of(samples.Positive).Rows())
	_ = samples.RegisterHostOnly("digamma", unary((*Tensor).Digamma), samples.In(3, 4).Of(samples.Positive).Rows())
)
