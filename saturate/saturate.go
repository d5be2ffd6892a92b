// Package saturate is arithmetic of integers that stops at the limits of their type, where package tensor's wraps around.
//
// It follows augpy: numbers beside tensors never change the type of the result, integers never wrap (0 − 40 is 0
// in uint8), and results that are no integers are rounded, half to even. Operands are computed in float64, so that
// integers of 64 bits are exact up to 2⁵³. Floats are computed as package tensor does. Results have no gradient.
//
// Which spelling does what with integers that do not fit:
//
//	x.Add(y), Sub, Mul, Neg, Pow     wrap around, as NumPy's and PyTorch's
//	x.AddScalar(300) of uint8        fails, as NumPy's
//	x.Div(y), x.AddScalar(0.5)       become float32
//	x.Cast(t), dtype.Convert         wrap around; fractions are cut off
//	tensor.Values, storage.Read      fail
//	saturate.Add(x, y), Sub, …       are limited; fractions are rounded
//	saturate.Cast, dtype.Saturate    likewise
//
// augpy's launch control, blocks_per_sm and threads of each call, is cuda.Device.SetGeometry of a GPU here, for all its
// elementwise operations: Blocks of all multiprocessors and Threads of a block, which are at most 256.
package saturate

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

type binary = func(x, y *tensor.Tensor) *tensor.Tensor

// TempType returns the type of float that results of type t are computed in and Sum returns if asked to: float32 for
// float32 and integers of at most 16 bits, float64 for others.
func TempType(t dtype.Type) dtype.Type {
	if t == dtype.Float32 || !t.IsFloat() && t.Size() <= 2 {
		return dtype.Float32
	}
	return dtype.Float64
}

// Cast returns x as type t, rounded half to even and limited to the numbers of t if t is an integer; NaN becomes 0.
func Cast(x *tensor.Tensor, t dtype.Type) *tensor.Tensor {
	x = x.Detach()
	switch {
	case !t.IsInt() || x.DType() == t:
		return x.Cast(t)
	case x.DType().IsInt() && t.Size() == 8: // float64 does not hold all of them
		if least, _ := limits(t); least == 0 {
			return tensor.Where(x.LtScalar(0), x.Sub(x).Cast(t), x.Cast(t))
		}
		return tensor.Where(x.GtScalar(math.MaxInt64), x.Sub(x).Cast(t).AddScalar(math.MaxInt64), x.Cast(t))
	}
	x = x.Cast(dtype.Float64)
	least, most := limits(t)
	inside := x.IsNaN().Not().And(x.GtScalar(least)).And(x.LtScalar(most))
	zero := x.Sub(x).NanToNum().Cast(t)
	y := tensor.Where(inside, x, zero.Cast(dtype.Float64)).Round().Cast(t)
	y = tensor.Where(x.GeScalar(most), zero.BitNot(), y) // of unsigned integers
	if least < 0 {
		largest := zero.BitNot().Clamp(0, nil).AddScalar(int64(math.MaxInt64 >> (64 - 8*t.Size())))
		y = tensor.Where(x.GeScalar(most), largest, y)
		y = tensor.Where(x.LeScalar(least), largest.BitNot(), y)
	}
	return y
}

// limits returns the least number of t, an integer, and the largest, or the next float64 after it.
func limits(t dtype.Type) (least, most float64) {
	bits := 8 * t.Size()
	if t.IsUnsigned() {
		return 0, math.Ldexp(1, bits) - 1
	}
	return -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1
}

// Add returns x + y; y is a tensor of the type of x, or a number.
func Add(x *tensor.Tensor, y any) *tensor.Tensor { return apply("add", x, y, (*tensor.Tensor).Add) }

// Sub returns x − y, likewise.
func Sub(x *tensor.Tensor, y any) *tensor.Tensor { return apply("sub", x, y, (*tensor.Tensor).Sub) }

// Mul returns x·y, likewise.
func Mul(x *tensor.Tensor, y any) *tensor.Tensor { return apply("mul", x, y, (*tensor.Tensor).Mul) }

// Div returns x / y, likewise. Integers divided by 0 are the limits of their type, and 0 for 0/0.
func Div(x *tensor.Tensor, y any) *tensor.Tensor { return apply("div", x, y, (*tensor.Tensor).Div) }

// RSub returns y − x, likewise.
func RSub(x *tensor.Tensor, y any) *tensor.Tensor {
	return apply("rsub", x, y, func(x, y *tensor.Tensor) *tensor.Tensor { return y.Sub(x) })
}

// RDiv returns y / x, likewise.
func RDiv(x *tensor.Tensor, y any) *tensor.Tensor {
	return apply("rdiv", x, y, func(x, y *tensor.Tensor) *tensor.Tensor { return y.Div(x) })
}

// apply returns f of x and y in the type of x.
func apply(act string, x *tensor.Tensor, y any, f binary) *tensor.Tensor {
	t, second := x.DType(), number(x, y)
	if z, ok := y.(*tensor.Tensor); ok {
		if z.DType() != t {
			tensor.Fail(act, tensor.ErrType, "%v and %v; Cast one to the other", t, z.DType())
		}
		second = z
	}
	return Cast(f(wide(x), wide(second)), t)
}

// wide returns x without its gradient, and integers as float64.
func wide(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsFloat() {
		return x.Detach()
	}
	return x.Detach().Cast(dtype.Float64)
}

// number returns y, a number, as a tensor of floats beside x; x itself if y is a tensor.
func number(x *tensor.Tensor, y any) *tensor.Tensor {
	if _, ok := y.(*tensor.Tensor); ok {
		return x
	}
	return wide(x).MulScalar(0).NanToNum().AddScalar(y)
}

// FMA returns s·x + y in the type of y, for a number s. If x has unsigned integers, y has the signed ones of the same
// width; otherwise both have one type.
func FMA(s any, x, y *tensor.Tensor) *tensor.Tensor {
	want := x.DType()
	if signed, ok := map[dtype.Type]dtype.Type{dtype.Uint8: dtype.Int8, dtype.Uint16: dtype.Int16, dtype.Uint32: dtype.Int32, dtype.Uint64: dtype.Int64}[want]; ok {
		want = signed
	}
	if y.DType() != want {
		tensor.Fail("fma", tensor.ErrType, "%v and %v; want %v for the second", x.DType(), y.DType(), want)
	}
	return Cast(wide(x).MulScalar(s).Add(wide(y)), want)
}

// Lt returns 1 where x < y and 0 elsewhere, as uint8; y is a tensor or a number.
func Lt(x *tensor.Tensor, y any) *tensor.Tensor { return compare(x, y, (*tensor.Tensor).Lt) }

// Le returns 1 where x ≤ y, likewise.
func Le(x *tensor.Tensor, y any) *tensor.Tensor { return compare(x, y, (*tensor.Tensor).Le) }

// Eq returns 1 where x = y, likewise.
func Eq(x *tensor.Tensor, y any) *tensor.Tensor { return compare(x, y, (*tensor.Tensor).Eq) }

// Gt returns 1 where x > y, likewise.
func Gt(x *tensor.Tensor, y any) *tensor.Tensor { return compare(x, y, (*tensor.Tensor).Gt) }

// Ge returns 1 where x ≥ y, likewise.
func Ge(x *tensor.Tensor, y any) *tensor.Tensor { return compare(x, y, (*tensor.Tensor).Ge) }

func compare(x *tensor.Tensor, y any, f binary) *tensor.Tensor {
	if z, ok := y.(*tensor.Tensor); ok {
		return f(x, z).Cast(dtype.Uint8)
	}
	return f(wide(x), number(x, y)).Cast(dtype.Uint8)
}

// Sum returns the sum along axes, of all elements if none are named, in the type of x; see [tensor.KeepDims].
func Sum(x *tensor.Tensor, axes ...int) *tensor.Tensor { return Cast(wide(x).Sum(axes...), x.DType()) }

// SumUpcast is Sum in TempType of the type of x.
func SumUpcast(x *tensor.Tensor, axes ...int) *tensor.Tensor {
	return wide(x).Sum(axes...).Cast(TempType(x.DType()))
}

// GEMM returns alpha·a·b + beta·c for matrices of float32 or of float64; c may be nil.
func GEMM(a, b, c *tensor.Tensor, alpha, beta float64) *tensor.Tensor {
	for _, m := range []*tensor.Tensor{a, b, c} {
		if m == nil && m == c {
			continue
		}
		if t := m.DType(); t != a.DType() || t != dtype.Float32 && t != dtype.Float64 || m.Rank() != 2 {
			tensor.Fail("gemm", tensor.ErrType, "%v%v beside %v; want matrices of float32 or of float64", t, m.Shape(), a.DType())
		}
	}
	y := a.Detach().MatMul(b.Detach()).MulScalar(alpha)
	if c == nil {
		return y
	}
	return y.Add(c.Detach().MulScalar(beta))
}
