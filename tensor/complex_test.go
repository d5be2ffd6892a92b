package tensor_test

import (
	"errors"
	"math/cmplx"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// TestComplexNumbersCompute compares operations on complex numbers, in both types and strided, with package cmplx.
func TestComplexNumbersCompute(t *testing.T) {
	xs, ys := []complex128{1 + 2i, -3 + 0.5i, 0, -2, 1e-3i, 4}, []complex128{2 - 1i, 0.5i, 3, -1 + 1i, 2, -0.5}
	x0, y0 := tensor.FromSlice(xs, len(xs)), tensor.FromSlice(ys, len(ys))
	for _, typ := range []dtype.Type{dtype.Complex64, dtype.Complex128} {
		x, y := x0.Cast(typ).Flip(0).Flip(0), y0.Cast(typ)
		for name, test := range map[string]struct {
			got  *tensor.Tensor
			want func(x, y complex128) complex128
		}{
			"add":   {x.Add(y), func(x, y complex128) complex128 { return x + y }},
			"sub":   {x.Sub(y), func(x, y complex128) complex128 { return x - y }},
			"mul":   {x.Mul(y), func(x, y complex128) complex128 { return x * y }},
			"div":   {x.Div(y), func(x, y complex128) complex128 { return x / y }},
			"pow":   {x.Pow(y.Real().Abs().Cast(typ)), func(x, y complex128) complex128 { return cmplx.Pow(x, complex(max(real(y), -real(y)), 0)) }},
			"neg":   {x.Neg(), func(x, _ complex128) complex128 { return -x }},
			"conj":  {x.Conj(), func(x, _ complex128) complex128 { return cmplx.Conj(x) }},
			"abs":   {x.Abs(), func(x, _ complex128) complex128 { return complex(cmplx.Abs(x), 0) }},
			"angle": {x.Angle(), func(x, _ complex128) complex128 { return complex(cmplx.Phase(x), 0) }},
			"real":  {x.Real(), func(x, _ complex128) complex128 { return complex(real(x), 0) }},
			"imag":  {x.Imag(), func(x, _ complex128) complex128 { return complex(imag(x), 0) }},
			"exp":   {x.Exp(), func(x, _ complex128) complex128 { return cmplx.Exp(x) }},
			"log":   {y.Log(), func(_, y complex128) complex128 { return cmplx.Log(y) }},
			"sqrt":  {x.Sqrt(), func(x, _ complex128) complex128 { return cmplx.Sqrt(x) }},
			"scale": {x.MulScalar(2i), func(x, _ complex128) complex128 { return 2i * x }},
			"shift": {x.AddScalar(1.5), func(x, _ complex128) complex128 { return x + 1.5 }},
			"where": {tensor.Where(x.Real().GtScalar(0), x, y), func(x, y complex128) complex128 {
				if real(x) > 0 {
					return x
				}
				return y
			}},
		} {
			for i, got := range tensor.Values[complex128](test.got) {
				if want := test.want(xs[i], ys[i]); !(cmplx.Abs(got-want) <= map[dtype.Type]float64{dtype.Complex64: 2e-6, dtype.Complex128: 1e-14}[typ]*(1+cmplx.Abs(want))) {
					t.Errorf("%v %s of %v and %v: got %v, want %v", typ, name, xs[i], ys[i], got, want)
				}
			}
		}
		if got := tensor.Values[complex128](x.Reshape(2, 3).Sum(1)); got[0] != -2+2.5i || got[1] != complex(2, imag(got[1])) {
			t.Errorf("sums %v", got)
		}
		if !x.Equal(x) || x.Equal(y) {
			t.Error("complex numbers are not equal to themselves")
		}
	}
	leaf := tensor.FromSlice([]float64{1}, 1)
	for name, f := range map[string]func(){
		"an order":         func() { x0.Lt(y0) },
		"tangent":          func() { x0.Tan() },
		"imag of a real":   func() { leaf.Imag() },
		"parts of float16": func() { tensor.Complex(leaf.Cast(dtype.Float16), leaf.Cast(dtype.Float16)) },
	} {
		if err := tensor.Try(f); !errors.Is(err, tensor.ErrType) {
			t.Errorf("%s: error %v, want one of types", name, err)
		}
	}
}

// TestComplexGradientsMatchFiniteDifferences calls the samples on complex numbers, which they take or refuse.
func TestComplexGradientsMatchFiniteDifferences(t *testing.T) {
	taken := 0
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		in := tensortest.Draw(s, dtype.Float64)
		for i, a := range in {
			if a.Type == dtype.Float64 {
				re := tensor.FromArray(a)
				in[i] = tensor.Complex(re, re.MulScalar(0.7).AddScalar(0.3).Flip(reversed(a.Rank())...)).Array()
			}
		}
		var xs []*tensor.Tensor
		for _, a := range in {
			x := tensor.FromArray(a)
			if a.Type.IsComplex() {
				x.RequireGrad()
			}
			xs = append(xs, x)
		}
		loss := func() (y *tensor.Tensor) {
			err := tensor.Try(func() {
				y = s.Call(xs...)
				w := tensortest.Weights(y.Real().Detach())
				if y.DType().IsComplex() {
					y = y.Real().Mul(w).Sum().Add(y.Imag().Mul(w.MulScalar(2).AddScalar(1)).Sum())
				} else {
					y = y.Mul(w).Sum()
				}
			})
			if err != nil && !errors.Is(err, tensor.ErrType) && !strings.Contains(err.Error(), "has no device") {
				t.Error(err)
			}
			if err != nil || !y.DType().IsFloat() || !y.RequiresGrad() {
				t.Skip(err)
			}
			return y
		}
		y := loss()
		taken++
		grads := tensor.Gradients(y)
		for i, x := range xs {
			if grads[x] == nil {
				continue
			}
			got := tensor.Values[complex128](grads[x])
			elems := storage.Elements[complex128](in[i])
			for k := range elems {
				difference := func(h complex128) float64 {
					defer func(old complex128) { elems[k] = old }(elems[k])
					elems[k] += h
					above := loss().Item()
					elems[k] -= 2 * h
					return (above - loss().Item()) / 2e-5
				}
				want := complex(difference(1e-5), difference(1e-5i))
				if !(cmplx.Abs(got[k]-want) <= 1e-6*(1+cmplx.Abs(want))) {
					t.Errorf("operand %d, element %d: gradient %v, finite difference %v", i, k, got[k], want)
				}
			}
		}
	})
	if taken < 60 {
		t.Errorf("%d samples take complex numbers; want at least 60", taken)
	}
}

func reversed(rank int) (axes []int) {
	for axis := range rank {
		axes = append(axes, axis)
	}
	return axes
}
