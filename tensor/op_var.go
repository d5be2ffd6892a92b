package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Correction returns what, among the axes of a variance, is the number n that is subtracted from the number of
// elements that its sum is divided by: x.Var(0, Correction(0)). Without it, that is 1.
func Correction(n int) int {
	if n < 0 || n >= maxCorrection {
		fail("correction", ErrShape, "of %d; want 0 to %d", n, maxCorrection-1)
	}
	return KeepDims + 1 + n
}

const maxCorrection = 1 << 30

// correctionOf returns axes without a Correction, and its number.
func correctionOf(axes []int) (others []int, correction float64) {
	correction = 1
	for _, axis := range axes {
		if n := axis - KeepDims - 1; n >= 0 && n < maxCorrection { // negative where it overflows
			correction = float64(n)
		} else {
			others = append(others, axis)
		}
	}
	return others, correction
}

// Var returns the variance along axes, or of everything if none are named: Σ (x − mean)²/(n − 1), or NaN if n is 1. See
// [KeepDims] and [Correction].
func (x *Tensor) Var(axes ...int) *Tensor {
	variance, _ := x.VarMean(axes...)
	return variance
}

// Std returns the square root of [Tensor.Var].
func (x *Tensor) Std(axes ...int) *Tensor { return x.Var(axes...).Sqrt() }

// StdMean returns Std and Mean.
func (x *Tensor) StdMean(axes ...int) (std, mean *Tensor) {
	variance, mean := x.VarMean(axes...)
	return variance.Sqrt(), mean
}

// VarMean returns Var and Mean.
func (x *Tensor) VarMean(axes ...int) (variance, mean *Tensor) {
	if x != nil && x.DType().IsComplex() { // the mean of |x − mean|²
		re, a := x.Real().VarMean(axes...)
		im, b := x.Imag().VarMean(axes...)
		return re.Add(im), Complex(a, b)
	}
	axes, correction := correctionOf(axes)
	axes, keep := keepDims(axes)
	x, axes = x.ToFloat32(), x.axes("var", axes)
	var sum *Tensor
	if x.IsLazy() && x.Len() > 0 && x.DType().IsFloat() {
		both := ApplyAll(newMoments(axes), x)
		sum, mean = both[0], both[1]
	} else {
		mean = Apply(reduction{kernels.Mean, axes, meanGrad}, x)
		sum = Apply(squares{reduction{f: kernels.Squares, axes: axes}}, x, mean)
	}
	variance = sum.MulScalar(1 / math.Max(0, count(x, mean)-correction))
	if keep {
		return variance, mean
	}
	return variance.dropAxes(axes), mean.dropAxes(axes)
}

// squares is the sum of (x − m)² along axes.
type squares struct{ reduction }

func (op squares) Infer(in []Spec) []Spec { return op.reduction.Infer(in[:1]) }

func (squares) reads([]*Tensor) (operands uint64, results bool) { return 1<<0 | 1<<1, false }

func (op squares) Backward(out, grads, in []*Tensor) []*Tensor {
	x, m, dy := in[0], in[1], grads[0]
	dx := x.Sub(m).Mul(dy).MulScalar(2)
	return []*Tensor{dx, m.ifNeeded(func() *Tensor { return dx.Neg().sumTo(m.Shape()) })}
}

func (op squares) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Squares, nil, out, in...)
}

var (
	_ = samples.Register("var", unary(func(x *Tensor) *Tensor { return x.Var() }), samples.In(2, 3))
	_ = samples.Register("var 0", unary(func(x *Tensor) *Tensor { return x.Var(0) }), samples.In(3, 4, 2))
	_ = samples.Register("var 1,2", unary(func(x *Tensor) *Tensor { return x.Var(1, 2, KeepDims, Correction(0)) }), samples.In(2, 3, 4).Rows())
	_ = samples.Register("std", unary(func(x *Tensor) *Tensor { return x.Std(-1, Correction(2)) }), samples.In(3, 4).Rows())
	_ = samples.Register("var mean", unary(func(x *Tensor) *Tensor { v, m := x.VarMean(1); return v.Mul(m) }), samples.In(3, 4))
	_ = samples.Register("std mean", unary(func(x *Tensor) *Tensor { v, m := x.StdMean(1); return v.Mul(m) }), samples.In(3, 4))
)
