package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Complex numbers are computed by operations on their parts, which are views. The gradient of a real result y at
// a complex z is ∂y/∂Re(z) + i·∂y/∂Im(z), as PyTorch's. A result that is complex has gradients for a given incoming one.

// Complex returns the complex numbers with the given parts, of float32 or float64, whose shapes broadcast.
func Complex(re, im *Tensor) *Tensor {
	re, im = promoted("complex", re, im)
	return Apply(complexOf{}, re, im)
}

type complexOf struct{}

func (complexOf) Name() string { return "complex" }

// Pointwise implements [PointwiseOp].
func (complexOf) Pointwise() {}

func (op complexOf) Infer(in []Spec) []Spec {
	t := dtype.Complex64
	switch in[0].Type {
	case dtype.Float32:
	case dtype.Float64:
		t = dtype.Complex128
	default:
		fail(op.Name(), ErrType, "parts of %v; want float32 or float64", in[0].Type)
	}
	return one(t, broadcastLayout(op.Name(), in...))
}

func (complexOf) Forward(c *Context, out, in []storage.Array) error {
	for i := range in {
		if err := c.Run(kernels.Copy, nil, []storage.Array{partOf(out[0], i)}, broadcastTo(in[i], out[0].Shape)); err != nil {
			return err
		}
	}
	return nil
}

func (complexOf) reads([]*Tensor) (operands uint64, results bool) { return 0, false }

func (complexOf) Backward(out, grads, in []*Tensor) []*Tensor {
	dz := grads[0]
	return []*Tensor{
		in[0].ifNeeded(func() *Tensor { return dz.Real().sumTo(in[0].Shape()) }),
		in[1].ifNeeded(func() *Tensor { return dz.Imag().sumTo(in[1].Shape()) }),
	}
}

// partType returns the type of the parts of complex numbers.
func partType(t dtype.Type) dtype.Type {
	if t == dtype.Complex128 {
		return dtype.Float64
	}
	return dtype.Float32
}

// partOf returns the real parts of complex a, for 0, or the imaginary ones, sharing its memory.
func partOf(a storage.Array, i int) storage.Array {
	a.Type = partType(a.Type)
	v := views.View{Offset: 2*a.Offset + i, Shape: a.Shape, Stride: make([]int, len(a.Stride))}
	for axis, stride := range a.Stride {
		v.Stride[axis] = 2 * stride
	}
	return a.With(v)
}

// complexPart is the view of the real parts, for 0, or of the imaginary ones.
type complexPart struct {
	viewOp
	i int
}

func (op complexPart) Name() string { return [2]string{"real", "imag"}[op.i] }

func (complexPart) origins(from, _ views.View) []int { return sameAxes(from.Rank()) }

func (op complexPart) Backward(out, grads, in []*Tensor) []*Tensor {
	parts := [2]*Tensor{grads[0].constant(0), grads[0].constant(0)}
	parts[op.i] = grads[0]
	return []*Tensor{Complex(parts[0], parts[1])}
}

// part returns the real parts of x, for 0, or the imaginary ones, sharing its memory; a file is read first.
func (x *Tensor) part(i int) *Tensor {
	x = inMemory(complexPart{i: i}.Name(), []*Tensor{x})[0]
	a := partOf(x.array, i)
	y := view(complexPart{i: i}, x, a.View)
	y.array.Type = a.Type
	return y
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

// castComplex is Cast from or to complex numbers: real ones lose the imaginary parts.
func (x *Tensor) castComplex(t dtype.Type) *Tensor {
	switch from := x.DType(); {
	case !t.IsComplex():
		return x.Real().Cast(t)
	case from.IsComplex():
		return Complex(x.Real().Cast(partType(t)), x.Imag().Cast(partType(t)))
	}
	re := x.Cast(partType(t))
	return Complex(re, re.constant(0))
}

// Conj returns the conjugate of x, elementwise; x itself if it is real.
func (x *Tensor) Conj() *Tensor {
	if checkGiven("conj", x); !x.DType().IsComplex() {
		return x
	}
	return Complex(x.Real(), x.Imag().Neg())
}

// Adjoint returns the conjugate of x with its last two axes swapped.
func (x *Tensor) Adjoint() *Tensor { return x.T().Conj() }

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
		scale := c.Abs().Maximum(d.Abs()).Detach() // the quotient does not depend on it
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
		if !x.requiresGrad {
			return a.Hypot(b)
		}
		zero := x.EqScalar(0) // where the gradient is 0
		return Where(zero, a.constant(0), Where(zero, a.constant(1), a).Hypot(b))
	case kernels.Exp:
		return polar(a.Exp(), b)
	case kernels.Sin:
		return Complex(a.Sin().Mul(b.Cosh()), a.Cos().Mul(b.Sinh()))
	case kernels.Cos:
		return Complex(a.Cos().Mul(b.Cosh()), a.Sin().Mul(b.Sinh()).Neg())
	case kernels.Sinh:
		return Complex(a.Sinh().Mul(b.Cos()), a.Cosh().Mul(b.Sin()))
	case kernels.Cosh:
		return Complex(a.Cosh().Mul(b.Cos()), a.Sinh().Mul(b.Sin()))
	case kernels.Log:
		return Complex(x.Abs().Log(), x.Angle())
	case kernels.Sqrt:
		return polar(x.Abs().Sqrt(), x.Angle().MulScalar(0.5))
	}
	fail(f.Name, ErrType, "not defined on %v; compute with Real and Imag", x.DType())
	return nil
}

// complexMatMul is the product of complex matrices, by four real ones.
func complexMatMul(x, y *Tensor) *Tensor {
	a, b, c, d := x.part(0), x.part(1), y.part(0), y.part(1)
	return Complex(a.MatMul(c).Sub(b.MatMul(d)), a.MatMul(d).Add(b.MatMul(c)))
}

// joinedParts returns the real parts of x and its imaginary ones, one after the other, for samples: their gradients are
// tried by numbers. Real x is returned.
func joinedParts(x *Tensor) *Tensor {
	switch {
	case !x.DType().IsComplex():
		return x
	case x.Rank() == 0:
		return Stack(0, x.Real(), x.Imag())
	}
	return Cat(-1, x.Real(), x.Imag())
}

// registerComplex registers f of complex numbers, whose parts are pairs of inputs.
func registerComplex(name string, f func(zs ...*Tensor) *Tensor, in ...samples.Input) bool {
	var pairs []samples.Input
	for _, x := range in {
		pairs = append(pairs, x, x)
	}
	return samples.Register(name, func(in ...*Tensor) *Tensor {
		var zs []*Tensor
		t := in[0].DType()
		for i := 0; i < len(in); i += 2 {
			re, im := in[i], in[i+1]
			if t == dtype.Float16 || t == dtype.BFloat16 {
				re, im = re.Cast(dtype.Float32), im.Cast(dtype.Float32)
			}
			zs = append(zs, Complex(re, im))
		}
		return joinedParts(f(zs...)).Cast(t)
	}, pairs...)
}

func init() {
	m, v := samples.In(2, 3).Rows(), samples.In(3)
	one := func(name string, f func(x *Tensor) *Tensor) { registerComplex(name, unary(f), m.Of(samples.Positive)) }
	one("complex abs", (*Tensor).Abs)
	one("complex angle", (*Tensor).Angle)
	one("complex conj", (*Tensor).Conj)
	one("complex adjoint", (*Tensor).Adjoint)
	one("complex exp", (*Tensor).Exp)
	one("complex log", (*Tensor).Log)
	one("complex sqrt", (*Tensor).Sqrt)
	one("complex sin", (*Tensor).Sin)
	one("complex cos", (*Tensor).Cos)
	one("complex sinh", (*Tensor).Sinh)
	one("complex cosh", (*Tensor).Cosh)
	one("complex sign", (*Tensor).Sign)
	one("complex norm", func(x *Tensor) *Tensor { return x.Norm(3, -1) })
	one("complex std", func(x *Tensor) *Tensor { return x.Std(-1) })
	one("complex mean", func(x *Tensor) *Tensor { return x.Mean(-1) })
	one("complex cast", func(x *Tensor) *Tensor { return x.Real().Cast(x.DType()).Mul(x).Cast(dtype.Complex128) })
	two := func(name string, f func(x, y *Tensor) *Tensor, in ...samples.Input) {
		registerComplex(name, func(zs ...*Tensor) *Tensor { return f(zs[0], zs[1]) }, in...)
	}
	two("complex mul", (*Tensor).Mul, m, m)
	two("complex div", (*Tensor).Div, m, m.Of(samples.Positive))
	two("complex pow", (*Tensor).Pow, m.Of(samples.Positive), v.Of(samples.Unit))
	two("complex matmul", (*Tensor).MatMul, samples.In(2, 2, 3).Rows(), samples.In(3, 2))
	two("complex dot", (*Tensor).Dot, v, v)
	two("complex vdot", (*Tensor).VDot, v, v)
	two("complex outer", (*Tensor).Outer, v, samples.In(2))
	two("complex einsum", func(x, y *Tensor) *Tensor { return Einsum("bij,bjk->bk", x, y) }, samples.In(2, 2, 3).Rows(), samples.In(2, 3, 2).Rows())
}
