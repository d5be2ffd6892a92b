package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Functions with steps have derivatives of 0. Integers are their own Floor, Ceil, Trunc and Round.

// Floor returns the largest integer that is not above x, elementwise.
func (x *Tensor) Floor() *Tensor { return x.stepped(kernels.Floor) }

// Ceil returns the least integer that is not below x, elementwise.
func (x *Tensor) Ceil() *Tensor { return x.stepped(kernels.Ceil) }

// Trunc returns x without its fraction, elementwise.
func (x *Tensor) Trunc() *Tensor { return x.stepped(kernels.Trunc) }

// Round returns the integer nearest to x, elementwise, the even one of two; or the nearest multiple of
// 10 to the power of −decimals[0].
func (x *Tensor) Round(decimals ...int) *Tensor {
	switch {
	case len(decimals) > 1:
		fail("round", ErrState, "%d numbers of decimals; want at most one", len(decimals))
	case len(decimals) == 0 || decimals[0] == 0:
		return x.stepped(kernels.Round)
	case decimals[0] < 0:
		unit := math.Pow10(-decimals[0])
		return x.DivScalar(unit).stepped(kernels.Round).MulScalar(unit)
	}
	unit := math.Pow10(decimals[0])
	return x.MulScalar(unit).stepped(kernels.Round).DivScalar(unit)
}

// Frac returns x without its integral part, elementwise.
func (x *Tensor) Frac() *Tensor { return x.Sub(x.Trunc()) }

func (x *Tensor) stepped(f *kernels.Kernel) *Tensor {
	if checkGiven(f.Name, x); x.DType().IsInt() {
		x.checkFormat(f.Name, unaryOp{})
		return x
	}
	return x.pointwise(f, noSlope)
}

func noSlope(x, y, dy *Tensor) *Tensor { return dy.constant(0) }

// Sign returns −1, 0 or 1, elementwise; 0 of NaN, as in PyTorch, where NumPy has NaN. A complex number other than 0 is divided by its
// absolute value, as by NumPy's sign and PyTorch's sgn.
func (x *Tensor) Sign() *Tensor {
	checkGiven("sign", x)
	switch t := x.DType(); {
	case t.IsFloat():
		return Where(x.LtScalar(0).BitOr(x.GtScalar(0)), x.constant(1).CopySign(x), x.constant(0))
	case t.IsInt():
		return x.GtScalar(0).Cast(t).Sub(x.LtScalar(0).Cast(t))
	case t.IsComplex():
		r := x.Abs()
		return x.Div(Where(r.EqScalar(0), r.constant(1), r))
	}
	return x
}

// CopySign returns |x| with the sign of y, elementwise. Its derivative at 0 is 0.
func (x *Tensor) CopySign(y *Tensor) *Tensor { return floats(kernels.CopySign, copySignGrad, x, y) }

func copySignGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	zero := dz.constant(0)
	same := Where(x.Eq(z), dz, dz.Neg())
	return Where(x.EqScalar(0), zero, same), y.ifNeeded(func() *Tensor { return dz.constant(0) })
}

// Heaviside returns 0 where x < 0, 1 where x > 0 and values where x = 0, elementwise; 0 of NaN, as in PyTorch, where
// NumPy has NaN.
func (x *Tensor) Heaviside(values *Tensor) *Tensor {
	x, values = promoted("heaviside", x, values)
	return Where(x.EqScalar(0), values, x.Sign().Maximum(x.constant(0)))
}

var (
	_ = registerUnary("floor", (*Tensor).Floor, samples.Normal)
	_ = registerUnary("ceil", (*Tensor).Ceil, samples.Normal)
	_ = registerUnary("trunc", (*Tensor).Trunc, samples.Normal)
	_ = registerUnary("round", func(x *Tensor) *Tensor { return x.Round() }, samples.Normal)
	_ = registerUnary("round 1", func(x *Tensor) *Tensor { return x.Round(1) }, samples.Normal)
	_ = registerUnary("round -1", func(x *Tensor) *Tensor { return x.Round(-1) }, samples.Normal)
	_ = registerUnary("frac", (*Tensor).Frac, samples.Normal)
	_ = registerUnary("sign", (*Tensor).Sign, samples.Normal)
	_ = registerBroadcasts("copy sign", (*Tensor).CopySign, samples.Normal)
	_ = registerBroadcasts("heaviside", (*Tensor).Heaviside, samples.Normal)
)
