package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Functions of floats take integers and bools as float32.

// Exp2 returns 2ˣ, elementwise.
func (x *Tensor) Exp2() *Tensor { return x.pointwise(kernels.Exp2, exp2Grad) }

func exp2Grad(x, y, dy *Tensor) *Tensor { return dy.Mul(y).MulScalar(math.Ln2) }

// Expm1 returns eˣ − 1, elementwise, to the last digits also near 0.
func (x *Tensor) Expm1() *Tensor { return x.pointwise(kernels.Expm1, expm1Grad) }

func expm1Grad(x, y, dy *Tensor) *Tensor { return dy.Mul(y.AddScalar(1)) }

// Log1p returns ln(1 + x), elementwise, to the last digits also near 0.
func (x *Tensor) Log1p() *Tensor { return x.pointwise(kernels.Log1p, log1pGrad) }

func log1pGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x.AddScalar(1)) }

// Log2 returns the logarithm of x to base 2, elementwise.
func (x *Tensor) Log2() *Tensor { return x.pointwise(kernels.Log2, log2Grad) }

func log2Grad(x, y, dy *Tensor) *Tensor { return dy.Div(x.MulScalar(math.Ln2)) }

// Log10 returns the logarithm of x to base 10, elementwise.
func (x *Tensor) Log10() *Tensor { return x.pointwise(kernels.Log10, log10Grad) }

func log10Grad(x, y, dy *Tensor) *Tensor { return dy.Div(x.MulScalar(math.Ln10)) }

// LogAddExp returns ln(eˣ + eʸ), elementwise, without overflow.
func (x *Tensor) LogAddExp(y *Tensor) *Tensor { return floats(kernels.LogAddExp, logAddExpGrad, x, y) }

func logAddExpGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	share := x.Sub(y).Sigmoid()
	return dz.Mul(share), y.ifNeeded(func() *Tensor { return dz.Mul(y.Sub(x).Sigmoid()) })
}

// Xlogy returns x·ln(y), elementwise, and 0 where x is 0 and y is no NaN.
func (x *Tensor) Xlogy(y *Tensor) *Tensor {
	x, y = promoted("xlogy", x, y)
	x, y = x.floating(), y.floating()
	useless := y.LeScalar(0).BitOr(y.EqScalar(math.Inf(1)))
	return x.Mul(Where(x.EqScalar(0).BitAnd(useless), y.constant(1), y).Log())
}

// Entr returns −x·ln(x), elementwise; 0 at 0, and −∞ for negative x.
func (x *Tensor) Entr() *Tensor {
	x = x.floating()
	least := x.constant(math.Inf(-1))
	return Where(x.LtScalar(0), least, x.Mul(Where(x.EqScalar(0), x.constant(1), x).Log()).Neg())
}

// Logit returns ln(x/(1 − x)), elementwise.
func (x *Tensor) Logit() *Tensor {
	x = x.floating()
	return x.Log().Sub(x.Neg().Log1p())
}

var (
	_ = registerUnary("exp2", (*Tensor).Exp2, samples.Normal)
	_ = registerUnary("expm1", (*Tensor).Expm1, samples.Normal)
	_ = registerUnary("log1p", (*Tensor).Log1p, samples.Positive)
	_ = registerUnary("log2", (*Tensor).Log2, samples.Positive)
	_ = registerUnary("log10", (*Tensor).Log10, samples.Positive)
	_ = registerPairs("log add exp", (*Tensor).LogAddExp, samples.Normal)
	_ = registerBroadcasts("xlogy", (*Tensor).Xlogy, samples.Positive)
	_ = registerUnary("entr", (*Tensor).Entr, samples.Positive)
	_ = registerUnary("logit", func(x *Tensor) *Tensor { return x.MulScalar(0.25).Logit() }, samples.Positive)
)
