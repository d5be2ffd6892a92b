package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// The reductions of this file are made of others. They take axes as Sum does: see [KeepDims].

// Prod returns the product along axes, or of everything if none are named; an empty product is 1. Integers and
// bools are multiplied as int64, except uint64, and wrap. Floats of 16 bits are multiplied as float32.
func (x *Tensor) Prod(axes ...int) *Tensor {
	t := x.DType()
	switch {
	case t == dtype.Float16 || t == dtype.BFloat16:
		return x.Cast(dtype.Float32).Prod(axes...).Cast(t)
	case !t.IsFloat() && !t.IsComplex() && t != dtype.Uint64:
		x = x.Cast(dtype.Int64)
	}
	x, finish := x.joined("prod", axes)
	n := x.Shape()[x.Rank()-1]
	if n == 0 {
		return finish(x.Sum(-1).AddScalar(1))
	}
	for n > 1 { // multiplied in pairs, so that gradients are right at zeros, too
		half := n / 2
		product := x.Narrow(-1, 0, half).Mul(x.Narrow(-1, half, half))
		if n%2 == 1 {
			product = Cat(-1, product, x.Narrow(-1, n-1, 1))
		}
		x, n = product, (n+1)/2
	}
	return finish(x.Select(-1, 0))
}

// Any returns whether an element along axes, or any if none are named, is not 0, as bools. NaN is not 0.
// PyTorch's result of uint8 is uint8; ours is bool, as NumPy's.
func (x *Tensor) Any(axes ...int) *Tensor { return x.isNonzero().anyOf(axes) }

// All returns whether every element along axes, or all if none are named, is not 0, as bools: see [Tensor.Any].
func (x *Tensor) All(axes ...int) *Tensor {
	none := x.isNonzero().not().anyOf(axes)
	return none.not()
}

// anyOf is Any of bools. Unlike Max, it is defined on no elements.
func (x *Tensor) anyOf(axes []int) *Tensor {
	if x.Len() == 0 {
		return x.Sum(axes...).NeScalar(0)
	}
	return x.Max(axes...)
}

func (x *Tensor) isNonzero() *Tensor {
	if x.DType() == dtype.Bool {
		return x
	}
	return x.Detach().NeScalar(0)
}

func (x *Tensor) not() *Tensor { return x.Eq(x.constant(0)) }

// CountNonzero returns the number of elements along axes, or of all if none are named, that are not 0, as int64.
func (x *Tensor) CountNonzero(axes ...int) *Tensor { return x.isNonzero().Sum(axes...) }

// NanSum is [Tensor.Sum] of the elements that are not NaN.
func (x *Tensor) NanSum(axes ...int) *Tensor { return x.withoutNaN().Sum(axes...) }

// NanMean is [Tensor.Mean] of the elements that are not NaN.
func (x *Tensor) NanMean(axes ...int) *Tensor {
	n := x.Detach().Eq(x.Detach()).Sum(axes...)
	return x.NanSum(axes...).Div(n.Cast(x.DType()))
}

// withoutNaN returns x with 0 in place of NaN.
func (x *Tensor) withoutNaN() *Tensor {
	if !x.DType().IsFloat() {
		return x
	}
	return Where(x.Detach().Eq(x.Detach()), x, x.constant(0))
}

// LogSumExp returns log Σ eˣ along axes, or of everything if none are named, without overflow.
func (x *Tensor) LogSumExp(axes ...int) *Tensor {
	x = x.floating().ToFloat32()
	reduced, keep := keepDims(axes)
	reduced = x.axes("log sum exp", reduced)
	var top *Tensor
	if x.Len() == 0 {
		top = x.Detach().Sum(append(reduced, KeepDims)...)
	} else {
		top = x.Detach().Max(append(reduced, KeepDims)...)
		finite := top.Abs().LtScalar(math.Inf(1))
		top = Where(finite, top, top.constant(0)) // infinities are right without
	}
	y := x.Sub(top).Exp().Sum(append(reduced, KeepDims)...).Log().Add(top)
	if keep {
		return y
	}
	return y.dropAxes(reduced)
}

// Norm returns (Σ |x|ᵖ)^(1/p) along axes, or of everything if none are named: with p of +Inf and −Inf the largest and the smallest
// |x|, with 0 the number of elements that are not 0. Its gradient where all are 0 is 0.
func (x *Tensor) Norm(p float64, axes ...int) *Tensor {
	if x != nil && x.DType().IsComplex() {
		x = x.Abs()
	}
	x.wantFloats("norm")
	x = x.ToFloat32()
	switch p {
	case 0:
		return x.CountNonzero(axes...).Cast(x.DType())
	case 1:
		return x.Abs().Sum(axes...)
	case math.Inf(1):
		return x.Abs().Max(axes...)
	case math.Inf(-1):
		return x.Abs().Min(axes...)
	}
	return x.power(p).Sum(axes...).root(p)
}

// wantFloats fails unless x is an ordinary tensor of floats.
func (x *Tensor) wantFloats(op string) {
	modeOf(op, nil, nil, []*Tensor{x}) // refuses formats before types
	wantFloat(op, x.Spec())
}

// power returns |x|ᵖ, and 0 without a gradient where x is 0.
func (x *Tensor) power(p float64) *Tensor {
	if p == 2 {
		return x.Mul(x)
	}
	zero := x.Detach().EqScalar(0)
	safe := Where(zero, x.constant(1), x.Abs())
	small := 0.0
	if p < 0 {
		small = math.Inf(1)
	}
	return Where(zero, x.constant(small), safe.Log().MulScalar(p).Exp())
}

// root returns x^(1/p) for x ≥ 0, and 0 without a gradient where x is 0.
func (x *Tensor) root(p float64) *Tensor {
	zero := x.Detach().EqScalar(0)
	safe := Where(zero, x.constant(1), x)
	if p == 2 {
		safe = safe.Sqrt()
	} else {
		safe = safe.Log().MulScalar(1 / p).Exp()
	}
	return Where(zero, x.constant(0), safe)
}

var (
	_ = samples.Register("prod", unary(func(x *Tensor) *Tensor { return x.Prod() }), samples.In(2, 3))
	_ = samples.Register("prod 1", unary(func(x *Tensor) *Tensor { return x.Prod(1, KeepDims) }), samples.In(2, 5, 2).Rows())
	_ = samples.Register("prod 0,2", unary(func(x *Tensor) *Tensor { return x.Prod(0, 2) }), samples.In(2, 3, 2))
	_ = samples.Register("any", unary(func(x *Tensor) *Tensor { return x.Any(0) }), samples.In(2, 3).Of(samples.Bools))
	_ = samples.Register("all", unary(func(x *Tensor) *Tensor { return x.All(-1, KeepDims) }), samples.In(2, 3).Of(samples.Bools).Rows())
	_ = samples.Register("count nonzero", unary(func(x *Tensor) *Tensor { return x.CountNonzero(1) }), samples.In(2, 3).Of(samples.Bools).Rows())
	_ = samples.Register("nan sum", unary(func(x *Tensor) *Tensor { return x.NanSum(1) }), samples.In(2, 3).Rows())
	_ = samples.Register("nan mean", unary(func(x *Tensor) *Tensor { return x.NanMean(1) }), samples.In(2, 3).Rows())
	_ = samples.Register("log sum exp", unary(func(x *Tensor) *Tensor { return x.LogSumExp(1) }), samples.In(2, 3, 2).Rows())
	_ = samples.Register("norm 2", unary(func(x *Tensor) *Tensor { return x.Norm(2) }), samples.In(2, 3))
	_ = samples.Register("norm 3", unary(func(x *Tensor) *Tensor { return x.Norm(3, 1, KeepDims) }), samples.In(2, 3).Of(samples.Distinct).Rows())
	_ = samples.Register("norm 1", unary(func(x *Tensor) *Tensor { return x.Norm(1, 0) }), samples.In(2, 3).Of(samples.Distinct))
	_ = samples.Register("norm inf", unary(func(x *Tensor) *Tensor { return x.Norm(math.Inf(1), 1) }), samples.In(2, 3).Of(samples.Distinct))
)
