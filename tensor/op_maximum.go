package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Maximum returns the larger of x and y, elementwise, broadcasting their shapes; NaN if one is NaN. Equals share the
// gradient.
func (x *Tensor) Maximum(y *Tensor) *Tensor {
	return binary(binaryOp{f: kernels.Maximum, grad: extremeGrad((*Tensor).Lt)}, x, y)
}

// Minimum returns the smaller of x and y, as [Tensor.Maximum] does.
func (x *Tensor) Minimum(y *Tensor) *Tensor {
	return binary(binaryOp{f: kernels.Minimum, grad: extremeGrad((*Tensor).Gt)}, x, y)
}

// extremeGrad is the gradient of the operand that does not lose, and half of it for equals.
func extremeGrad(loses func(x, y *Tensor) *Tensor) func(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return func(x, y, _, dz *Tensor) (dx, dy *Tensor) {
		zero, shared := dz.constant(0), Where(x.Eq(y), dz.MulScalar(0.5), dz)
		return Where(loses(x, y), zero, shared), y.ifNeeded(func() *Tensor { return Where(loses(y, x), zero, shared) })
	}
}

// FMax returns the larger of x and y, elementwise, and the other one if one is NaN.
func (x *Tensor) FMax(y *Tensor) *Tensor { return withoutNaN("fmax", x, y, (*Tensor).Maximum) }

// FMin returns the smaller of x and y, elementwise, and the other one if one is NaN.
func (x *Tensor) FMin(y *Tensor) *Tensor { return withoutNaN("fmin", x, y, (*Tensor).Minimum) }

func withoutNaN(act string, x, y *Tensor, f func(x, y *Tensor) *Tensor) *Tensor {
	x, y = promoted(act, x, y)
	return f(Where(x.IsNaN(), y, x), Where(y.IsNaN(), x, y))
}

// Clamp returns x limited to the range from low to high, elementwise, each a number, a *Tensor, which broadcasts, or nil for
// no limit. Where low is above high the result is high. The gradient of x is 0 at limits that are numbers, and
// shared with limits that are tensors.
func (x *Tensor) Clamp(low, high any) *Tensor {
	const act = "clamp"
	if low == nil && high == nil {
		fail(act, ErrState, "no limits; want a number or a *Tensor for low, for high, or for both")
	}
	least, ok1 := x.realBesideOrNil(low)
	most, ok2 := x.realBesideOrNil(high)
	if ok1 && ok2 && least <= most {
		return x.between(hardtanh{stopsNaN: true}, least, most)
	}
	if low != nil {
		x = x.limited(act, low, kernels.Maximum, (*Tensor).Maximum, (*Tensor).Gt)
	}
	if high != nil {
		x = x.limited(act, high, kernels.Minimum, (*Tensor).Minimum, (*Tensor).Lt)
	}
	return x
}

// realBesideOrNil is realBeside of no tensors and no missing operands.
func (x *Tensor) realBesideOrNil(s any) (float64, bool) {
	if _, isTensor := s.(*Tensor); s == nil || isTensor {
		return 0, false
	}
	return x.realBeside(s)
}

// limited is x or a limit, which is a number or a tensor.
func (x *Tensor) limited(act string, limit any, k *kernels.Kernel, f, within func(x, y *Tensor) *Tensor) *Tensor {
	if y, ok := limit.(*Tensor); ok {
		return f(x, y)
	}
	grad := func(x, y, _, dz *Tensor) (dx, dy *Tensor) { return Where(within(x, y), dz, dz.constant(0)), nil }
	return x.withNumber(act, limit, func(x, y *Tensor) *Tensor { return Apply(binaryOp{f: k, grad: grad}, x, y) })
}

// IsNaN returns whether x is NaN, elementwise, as bools.
func (x *Tensor) IsNaN() *Tensor { return x.Ne(x) }

// IsInf returns whether x is ∞ or −∞, elementwise, as bools.
func (x *Tensor) IsInf() *Tensor { return x.IsPosInf().BitOr(x.IsNegInf()) }

// IsPosInf returns whether x is ∞, elementwise, as bools.
func (x *Tensor) IsPosInf() *Tensor { return x.isLimit(math.Inf(1)) }

// IsNegInf returns whether x is −∞, elementwise, as bools.
func (x *Tensor) IsNegInf() *Tensor { return x.isLimit(math.Inf(-1)) }

func (x *Tensor) isLimit(limit float64) *Tensor {
	if checkGiven("is infinite", x); !x.DType().IsFloat() {
		return x.Ne(x)
	}
	return x.EqScalar(limit)
}

// IsFinite returns whether x is neither infinite nor NaN, elementwise, as bools.
func (x *Tensor) IsFinite() *Tensor { return x.IsInf().BitOr(x.IsNaN()).Not() }

// NanToNum returns x with other numbers in the place of NaN, ∞ and −∞: the values in that order, or else 0 and the
// largest and the least numbers of the type.
func (x *Tensor) NanToNum(values ...float64) *Tensor {
	if checkGiven("nan to num", x); len(values) > 3 {
		fail("nan to num", ErrState, "%d values; want at most 3", len(values))
	}
	if !x.DType().IsFloat() {
		x.checkFormat("nan to num", unaryOp{})
		return x
	}
	most := map[dtype.Type]float64{dtype.Float16: 65504, dtype.BFloat16: 0x1.fep127, dtype.Float32: math.MaxFloat32, dtype.Float64: math.MaxFloat64}[x.DType()]
	all := [3]float64{0, most, -most}
	copy(all[:], values)
	y := Where(x.IsPosInf(), x.constant(all[1]), Where(x.IsNegInf(), x.constant(all[2]), x))
	return Where(x.IsNaN(), x.constant(all[0]), y)
}

var (
	_ = registerBroadcasts("maximum", (*Tensor).Maximum, samples.Normal)
	_ = registerBroadcasts("minimum", (*Tensor).Minimum, samples.Normal)
	_ = registerBroadcasts("fmax", (*Tensor).FMax, samples.Normal)
	_ = registerBroadcasts("fmin", (*Tensor).FMin, samples.Normal)
	_ = registerUnary("clamp", func(x *Tensor) *Tensor { return x.Clamp(-0.75, 0.5) }, samples.Normal)
	_ = registerUnary("clamp low", func(x *Tensor) *Tensor { return x.Clamp(-0.75, nil) }, samples.Normal)
	_ = registerUnary("clamp high", func(x *Tensor) *Tensor { return x.Clamp(nil, 0.5) }, samples.Normal)
	_ = samples.Register("clamp tensors", func(in ...*Tensor) *Tensor { return in[0].Clamp(in[1], in[2]) }, samples.In(3, 4).Rows(), samples.In(4), samples.In(3, 1).Of(samples.Positive).Rows())
	_ = registerUnary("is nan", (*Tensor).IsNaN, samples.Normal)
	_ = registerUnary("is inf", (*Tensor).IsInf, samples.Normal)
	_ = registerUnary("is posinf", (*Tensor).IsPosInf, samples.Normal)
	_ = registerUnary("is neginf", (*Tensor).IsNegInf, samples.Normal)
	_ = registerUnary("is finite", (*Tensor).IsFinite, samples.Normal)
	_ = registerUnary("nan to num", func(x *Tensor) *Tensor { return x.NanToNum(1, 2) }, samples.Normal)
)
