package tensor_test

import (
	"errors"
	"math/cmplx"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
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
	leaf := tensor.FromSlice([]float64{1}, 1).RequireGrad()
	for name, f := range map[string]func(){
		"an order":         func() { x0.Lt(y0) },
		"sine":             func() { x0.Sin() },
		"a lost gradient":  func() { leaf.Cast(dtype.Complex128) },
		"another":          func() { leaf.AddScalar(1i) },
		"parts with one":   func() { tensor.Complex(leaf, leaf) },
		"imag of a real":   func() { leaf.Imag() },
		"parts of float16": func() { tensor.Complex(leaf.Detach().Cast(dtype.Float16), leaf.Detach().Cast(dtype.Float16)) },
	} {
		if err := tensor.Try(f); !errors.Is(err, tensor.ErrType) {
			t.Errorf("%s: error %v, want one of types", name, err)
		}
	}
}
