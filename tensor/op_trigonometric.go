package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Sin returns the sine of x, elementwise, of arguments of any size.
func (x *Tensor) Sin() *Tensor { return x.pointwise(kernels.Sin, sinGrad) }

func sinGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(x.Cos()) }

// Cos returns the cosine of x, elementwise, of arguments of any size.
func (x *Tensor) Cos() *Tensor { return x.pointwise(kernels.Cos, cosGrad) }

func cosGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(x.Sin()).Neg() }

// Tan returns the tangent of x, elementwise.
func (x *Tensor) Tan() *Tensor { return x.pointwise(kernels.Tan, tanGrad) }

func tanGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(y.Square().AddScalar(1)) }

// Asin returns the angle in [−π/2, π/2] whose sine is x, elementwise.
func (x *Tensor) Asin() *Tensor { return x.pointwise(kernels.Asin, asinGrad) }

func asinGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x.Square().RSubScalar(1).Sqrt()) }

// Acos returns the angle in [0, π] whose cosine is x, elementwise.
func (x *Tensor) Acos() *Tensor { return x.pointwise(kernels.Acos, acosGrad) }

func acosGrad(x, y, dy *Tensor) *Tensor { return asinGrad(x, y, dy).Neg() }

// Atan returns the angle in [−π/2, π/2] whose tangent is x, elementwise.
func (x *Tensor) Atan() *Tensor { return x.pointwise(kernels.Atan, atanGrad) }

func atanGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x.Square().AddScalar(1)) }

// Atan2 returns the angle in [−π, π] of the point whose ordinate is y and abscissa x, elementwise.
func (y *Tensor) Atan2(x *Tensor) *Tensor { return floats(kernels.Atan2, atan2Grad, y, x) }

// atan2Grad is 0 where x and y are, as PyTorch's.
func atan2Grad(y, x, _, dz *Tensor) (dy, dx *Tensor) {
	squares := x.Square().Add(y.Square())
	scaled := dz.Div(Where(squares.EqScalar(0), squares.constant(1), squares))
	return y.ifNeeded(func() *Tensor { return scaled.Mul(x) }), x.ifNeeded(func() *Tensor { return scaled.Mul(y).Neg() })
}

// Sinh returns the hyperbolic sine of x, elementwise.
func (x *Tensor) Sinh() *Tensor { return x.pointwise(kernels.Sinh, sinhGrad) }

func sinhGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(x.Cosh()) }

// Cosh returns the hyperbolic cosine of x, elementwise.
func (x *Tensor) Cosh() *Tensor { return x.pointwise(kernels.Cosh, coshGrad) }

func coshGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(x.Sinh()) }

// Asinh returns the number whose hyperbolic sine is x, elementwise.
func (x *Tensor) Asinh() *Tensor { return x.pointwise(kernels.Asinh, asinhGrad) }

func asinhGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x.Square().AddScalar(1).Sqrt()) }

// Acosh returns the number from 0 on whose hyperbolic cosine is x, elementwise.
func (x *Tensor) Acosh() *Tensor { return x.pointwise(kernels.Acosh, acoshGrad) }

func acoshGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x.Square().AddScalar(-1).Sqrt()) }

// Atanh returns the number whose hyperbolic tangent is x, elementwise.
func (x *Tensor) Atanh() *Tensor { return x.pointwise(kernels.Atanh, atanhGrad) }

func atanhGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x.Square().RSubScalar(1)) }

// Hypot returns √(x² + y²), elementwise, without overflow.
func (x *Tensor) Hypot(y *Tensor) *Tensor { return floats(kernels.Hypot, hypotGrad, x, y) }

func hypotGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return x.ifNeeded(func() *Tensor { return dz.Mul(x.Div(z)) }), y.ifNeeded(func() *Tensor { return dz.Mul(y.Div(z)) })
}

// Sinc returns sin(πx)/(πx), elementwise, and 1 at 0, where its derivative is 0.
func (x *Tensor) Sinc() *Tensor {
	x = x.floating()
	zero, one := x.EqScalar(0), x.constant(1)
	turned := Where(zero, one, x).MulScalar(math.Pi)
	return Where(zero, one, turned.Sin().Div(turned))
}

// Deg2Rad returns x, angles in degrees, in radians.
func (x *Tensor) Deg2Rad() *Tensor { return x.floating().MulScalar(math.Pi / 180) }

// Rad2Deg returns x, angles in radians, in degrees.
func (x *Tensor) Rad2Deg() *Tensor { return x.floating().MulScalar(180 / math.Pi) }

// half makes a function of numbers in [−1, 1] one of samples.Distinct, which are below 2.5.
func half(f func(x *Tensor) *Tensor) func(x *Tensor) *Tensor {
	return func(x *Tensor) *Tensor { return f(x.MulScalar(0.25)) }
}

var (
	_ = registerUnary("sin", (*Tensor).Sin, samples.Normal)
	_ = registerUnary("cos", (*Tensor).Cos, samples.Normal)
	_ = registerUnary("tan", half((*Tensor).Tan), samples.Normal)
	_ = registerUnary("asin", half((*Tensor).Asin), samples.Distinct)
	_ = registerUnary("acos", half((*Tensor).Acos), samples.Distinct)
	_ = registerUnary("atan", (*Tensor).Atan, samples.Normal)
	_ = registerBroadcasts("atan2", (*Tensor).Atan2, samples.Positive)
	_ = registerUnary("sinh", (*Tensor).Sinh, samples.Normal)
	_ = registerUnary("cosh", (*Tensor).Cosh, samples.Normal)
	_ = registerUnary("asinh", (*Tensor).Asinh, samples.Normal)
	_ = registerUnary("acosh", func(x *Tensor) *Tensor { return x.AddScalar(1).Acosh() }, samples.Positive)
	_ = registerUnary("atanh", half((*Tensor).Atanh), samples.Distinct)
	_ = registerPairs("hypot", (*Tensor).Hypot, samples.Positive)
	_ = registerUnary("sinc", (*Tensor).Sinc, samples.Positive)
	_ = registerUnary("deg2rad", (*Tensor).Deg2Rad, samples.Normal)
	_ = registerUnary("rad2deg", (*Tensor).Rad2Deg, samples.Normal)
)
