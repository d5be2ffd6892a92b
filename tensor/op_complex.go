package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Complex numbers are computed by operations on their parts, which are views. They have no gradients: what would lose one
// refuses.

// Complex returns the complex numbers with the given parts, of float32 or float64, whose shapes broadcast.
func Complex(re, im *Tensor) *Tensor {
	const act = "complex"
	re, im = promoted(act, re, im)
	t := dtype.Complex64
	switch re.DType() {
	case dtype.Float32:
	case dtype.Float64:
		t = dtype.Complex128
	default:
		fail(act, ErrType, "parts of %v; want float32 or float64", re.DType())
	}
	re.refuseComplexGradient(act)
	im.refuseComplexGradient(act)
	shape, ok := views.BroadcastShape(re.Shape(), im.Shape())
	if !ok {
		fail(act, ErrShape, "parts of %v and %v do not broadcast together", re.Shape(), im.Shape())
	}
	y := re.filledAs(t, views.Of(shape...), 0)
	for i, part := range []*Tensor{re, im} {
		if part.Device() != Meta {
			run(act, kernels.Copy, nil, []storage.Array{y.part(i).array}, broadcastTo(part.array, shape))
		}
	}
	return y
}

// refuseComplexGradient fails if a complex number computed from x would lose its gradient.
func (x *Tensor) refuseComplexGradient(act string) {
	if x.requiresGrad && !x.noGrad {
		fail(act, ErrType, "complex numbers have no gradients; Detach %v", x.array)
	}
}

// part returns the real parts of x, for 0, or the imaginary ones, sharing its memory.
func (x *Tensor) part(i int) *Tensor {
	a := x.array
	a.Type = dtype.Float32
	if x.DType() == dtype.Complex128 {
		a.Type = dtype.Float64
	}
	v := views.View{Offset: 2*a.Offset + i, Shape: a.Shape, Stride: make([]int, len(a.Stride))}
	for axis, stride := range a.Stride {
		v.Stride[axis] = 2 * stride
	}
	a.View = v
	return &Tensor{array: a, noGrad: x.noGrad, backward: x.backward, tape: x.tape, block: x.block}
}

// Real returns the real parts of x, sharing its memory; x itself if it is real.
func (x *Tensor) Real() *Tensor {
	if checkGiven("real", x); !x.DType().IsComplex() {
		return x
	}
	return x.part(0)
}

// Imag returns the imaginary parts of x, which must be complex, sharing its memory.
func (x *Tensor) Imag() *Tensor {
	if checkGiven("imag", x); !x.DType().IsComplex() {
		fail("imag", ErrType, "%v has no imaginary part; want complex numbers", x.DType())
	}
	return x.part(1)
}

// Conj returns the conjugate of x, elementwise; x itself if it is real.
func (x *Tensor) Conj() *Tensor {
	if checkGiven("conj", x); !x.DType().IsComplex() {
		return x
	}
	return Complex(x.Real(), x.Imag().Neg())
}

// Angle returns the angle of x in the complex plane, elementwise, from −π to π.
func (x *Tensor) Angle() *Tensor {
	if checkGiven("angle", x); x.DType().IsComplex() {
		return x.Imag().Atan2(x.Real())
	}
	x = x.floating()
	return Where(x.LtScalar(0), x.constant(math.Pi), Where(x.IsNaN(), x, x.constant(0)))
}

// complexBinary is f of two complex numbers of one type.
func complexBinary(f *kernels.Kernel, x, y *Tensor) *Tensor {
	a, b, c, d := x.part(0), x.part(1), y.part(0), y.part(1)
	switch f {
	case kernels.Add:
		return Complex(a.Add(c), b.Add(d))
	case kernels.Sub:
		return Complex(a.Sub(c), b.Sub(d))
	case kernels.Mul:
		return Complex(a.Mul(c).Sub(b.Mul(d)), a.Mul(d).Add(b.Mul(c)))
	case kernels.Div: // without overflow of squares
		scale := c.Abs().Maximum(d.Abs())
		p, q := c.Div(scale), d.Div(scale)
		square := c.Mul(p).Add(d.Mul(q))
		return Complex(a.Mul(p).Add(b.Mul(q)).Div(square), b.Mul(p).Sub(a.Mul(q)).Div(square))
	case kernels.Pow:
		power := Where(x.EqScalar(0), x.MulScalar(0), x.Log().Mul(y).Exp())
		return Where(y.EqScalar(0), y.MulScalar(0).AddScalar(1), power)
	case kernels.Equal:
		return a.Eq(c).BitAnd(b.Eq(d))
	case kernels.NotEqual:
		return a.Ne(c).BitOr(b.Ne(d))
	}
	fail(f.Name, ErrType, "not defined on %v; compute with Real and Imag", x.DType())
	return nil
}

// complexUnary is f of complex numbers.
func complexUnary(f *kernels.Kernel, x *Tensor) *Tensor {
	a, b := x.part(0), x.part(1)
	polar := func(r, angle *Tensor) *Tensor { return Complex(r.Mul(angle.Cos()), r.Mul(angle.Sin())) }
	switch f {
	case kernels.Neg:
		return Complex(a.Neg(), b.Neg())
	case kernels.Abs:
		return a.Hypot(b)
	case kernels.Exp:
		return polar(a.Exp(), b)
	case kernels.Log:
		return Complex(x.Abs().Log(), x.Angle())
	case kernels.Sqrt:
		return polar(x.Abs().Sqrt(), x.Angle().MulScalar(0.5))
	}
	fail(f.Name, ErrType, "not defined on %v; compute with Real and Imag", x.DType())
	return nil
}
