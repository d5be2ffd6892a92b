package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestPointwiseAtTheEnds has the values and gradients of PyTorch 2.15 at zeros, limits, infinities and NaN.
func TestPointwiseAtTheEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	with := func(f func(x, y *tensor.Tensor) *tensor.Tensor, y ...float64) func(x *tensor.Tensor) *tensor.Tensor {
		return func(x *tensor.Tensor) *tensor.Tensor { return f(x, tensor.FromSlice(y, len(y))) }
	}
	scalar := func(f func(x *tensor.Tensor, s any) *tensor.Tensor, s any) func(x *tensor.Tensor) *tensor.Tensor {
		return func(x *tensor.Tensor) *tensor.Tensor { return f(x, s) }
	}
	type T = tensor.Tensor
	for name, test := range map[string]struct {
		f           func(x *T) *T
		x           []float64
		value, grad string
	}{
		"hardswish":   {(*T).Hardswish, []float64{-3, 3, 0}, "[-0 3 0]", "[0 1 0.5]"},
		"relu6":       {(*T).ReLU6, []float64{0, 6}, "[0 6]", "[0 0]"},
		"clamp":       {func(x *T) *T { return x.Clamp(-1, 1) }, []float64{-1, 1, nan}, "[-1 1 NaN]", "[0 0 0]"},
		"clamp low":   {func(x *T) *T { return x.Clamp(-1, nil) }, []float64{-1, 1, nan}, "[-1 1 NaN]", "[0 1 0]"},
		"clamp above": {func(x *T) *T { return x.Clamp(3, 2) }, []float64{1, 5}, "[2 2]", "[0 0]"},
		"threshold":   {func(x *T) *T { return x.Threshold(1, 5) }, []float64{1, 2}, "[5 2]", "[0 1]"},
		"maximum":     {with((*T).Maximum, 1, 1, 1), []float64{1, nan, 2}, "[1 NaN 2]", "[0.5 1 1]"},
		"fmax":        {with((*T).FMax, 1, 1, 1), []float64{1, nan, 2}, "[1 1 2]", "[0.5 0 1]"},
		"leaky relu":  {func(x *T) *T { return x.LeakyReLU(0.25) }, []float64{0, -1}, "[0 -0.25]", "[0.25 0.25]"},
		"celu":        {func(x *T) *T { return x.CELU(2) }, []float64{0}, "[0]", "[1]"},
		"sinc":        {(*T).Sinc, []float64{0}, "[1]", "[0]"},
		"pow":         {with((*T).Pow, 0, 2, 1, 3, -1, 0), []float64{0, 0, 0, -2, 0, 2}, "[1 0 0 -8 +Inf 1]", "[0 0 1 12 -Inf 0]"},
		"square":      {scalar((*T).PowScalar, 2), []float64{0, 3}, "[0 9]", "[0 6]"},
		"pow 0":       {scalar((*T).PowScalar, 0), []float64{0, 3}, "[1 1]", "[0 0]"},
		"root":        {scalar((*T).PowScalar, 0.5), []float64{0, 4}, "[0 2]", "[+Inf 0.25]"},
		"xlogy":       {with((*T).Xlogy, 0, nan, inf, 0, 2), []float64{0, 0, 0, 2, 0}, "[0 NaN 0 -Inf 0]", "[0 NaN 0 -Inf 0.6931471805599453]"},
		"entr":        {(*T).Entr, []float64{0, -1, nan}, "[-0 -Inf NaN]", ""},
		"copy sign":   {with((*T).CopySign, 1, 1, -1), []float64{0, -2, 3}, "[0 2 -3]", "[0 -1 -1]"},
		"remainder":   {with((*T).Remainder, -3, 3, 0, 2, inf, -2, inf), []float64{5, -5, 5, inf, 3, 0, -3}, "[-1 1 NaN NaN 3 0 +Inf]", "[1 1 1 1 1 1 1]"},
		"fmod":        {with((*T).FMod, -3, 3, 0, 2, inf), []float64{5, -5, 5, inf, 3}, "[2 -2 NaN NaN 3]", "[1 1 1 1 1]"},
		"floor div":   {with((*T).FloorDiv, -3, 3, 0, 2, inf, -2), []float64{5, -5, 5, inf, -3, 0}, "[-2 -2 +Inf NaN -1 -0]", "[0 0 0 0 0 0]"},
		"log add exp": {with((*T).LogAddExp, -inf, 1, 0), []float64{-inf, 1, inf}, "[-Inf 1.6931471805599454 +Inf]", "[NaN 0.5 1]"},
		"asin":        {(*T).Asin, []float64{1, 0}, "[1.5707963267948966 0]", "[+Inf 1]"},
		"acosh":       {(*T).Acosh, []float64{1}, "[0]", "[+Inf]"},
		"softplus":    {func(x *T) *T { return x.SoftplusBeta(2, 20) }, []float64{11}, "[11]", "[1]"},
		"log sigmoid": {(*T).LogSigmoid, []float64{-1000, 1000}, "[-1000 -0]", "[1 0]"},
		"mish":        {(*T).Mish, []float64{-1000, 0, 1000}, "[-0 0 1000]", "[0 0.6 1]"},
		"softsign":    {(*T).Softsign, []float64{0}, "[0]", "[1]"},
		"rsqrt":       {(*T).RSqrt, []float64{0, 4}, "[+Inf 0.5]", "[-Inf -0.0625]"},
		"sign":        {(*T).Sign, []float64{nan, -0.5, 0, inf}, "[0 -1 0 1]", "[0 0 0 0]"},
		"heaviside":   {with((*T).Heaviside, 0.5, 0.5, 0.5, 0.5), []float64{nan, 0, 1, -1}, "[0 0.5 1 0]", ""},
		"nan to num":  {func(x *T) *T { return x.NanToNum() }, []float64{inf, -inf, nan, 1}, "[1.7976931348623157e+308 -1.7976931348623157e+308 0 1]", "[0 0 0 1]"},
		"round":       {func(x *T) *T { return x.Round() }, []float64{0.5, 1.5, 2.5, -0.5}, "[0 2 2 -0]", "[0 0 0 0]"},
		"round tens":  {func(x *T) *T { return x.Round(-1) }, []float64{123.456}, "[120]", "[0]"},
		"erfinv":      {(*T).Erfinv, []float64{-1, 1, 2}, "[-Inf +Inf NaN]", ""},
		"digamma":     {(*T).Digamma, []float64{0, -1}, "[-Inf NaN]", ""},
		"lgamma":      {(*T).Lgamma, []float64{0, -1}, "[+Inf +Inf]", ""},
	} {
		x := tensor.FromSlice(test.x, len(test.x)).RequireGrad()
		y := test.f(x)
		if got := fmt.Sprint(tensor.Values[float64](y)); got != test.value {
			t.Errorf("%s of %v: got %s, want %s", name, test.x, got, test.value)
		}
		if test.grad == "" {
			continue
		}
		if got := fmt.Sprint(tensor.Values[float64](tensor.Gradients(y.Sum())[x])); got != test.grad {
			t.Errorf("gradient of %s at %v: got %s, want %s", name, test.x, got, test.grad)
		}
	}
}

// TestIntegersDivideAndShift as NumPy's do by 0, and as PyTorch's otherwise.
func TestIntegersDivideAndShift(t *testing.T) {
	x, y := ofType(dtype.Int8, 7, -7, 7, -128, 5, -128), ofType(dtype.Int8, 2, 2, -2, -1, 0, 3)
	for _, test := range []struct {
		got  *tensor.Tensor
		want string
	}{
		{x.FloorDiv(y), "int8 [3 -4 -4 -128 0 -43]"},
		{x.Remainder(y), "int8 [1 1 -1 0 0 1]"},
		{x.FMod(y), "int8 [1 -1 1 0 0 -2]"},
		{x.Div(y), "float32 [3.5 -3.5 -3.5 128 +Inf -42.666668]"},
		{x.FloorDivScalar(2), "int8 [3 -4 3 -64 2 -64]"},
		{x.RemainderScalar(-3), "int8 [-2 -1 -2 -2 -1 -2]"},
		{x.PowScalar(2), "int8 [49 49 49 0 25 0]"},
		{x.PowScalar(0.5).IsNaN(), "bool [0 1 0 1 0 1]"},
		{ofType(dtype.Int64, 1, -1, -1, 2).Pow(ofType(dtype.Int64, -3, -3, -2, -1)), "int64 [1 -1 1 0]"},
		{x.BitNot(), "int8 [-8 6 -8 127 -6 127]"},
		{ofType(dtype.Uint16, 0, 5).BitNot(), "uint16 [65535 65530]"},
		{ofType(dtype.Bool, 0, 1).BitNot(), "bool [1 0]"},
		{ofType(dtype.Int64, 1, 1, 3).ShiftLeft(ofType(dtype.Int64, 65, -1, 2)), "int64 [0 0 12]"},
		{ofType(dtype.Int64, -8, 1, -8).ShiftRight(ofType(dtype.Int64, 65, -1, 1)), "int64 [-1 0 -4]"},
		{ofType(dtype.Uint8, 200, 200).ShiftRight(ofType(dtype.Uint8, 9, 3)), "uint8 [0 25]"},
		{x.And(y), "bool [1 1 1 1 0 1]"},
		{x.Clamp(0, 2.5), "float32 [2.5 0 2.5 0 2.5 0]"},
		{x.Clamp(-5, 6), "int8 [6 -5 6 -5 5 -5]"},
		{x.Sign(), "int8 [1 -1 1 -1 1 -1]"},
		{x.Floor(), "int8 [7 -7 7 -128 5 -128]"},
		{ofType(dtype.Float16, 1, math.Inf(-1)).IsFinite(), "bool [1 0]"},
		{x.IsFinite(), "bool [1 1 1 1 1 1]"},
	} {
		if got := fmt.Sprint(test.got.DType(), tensor.Values[float32](test.got)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if err := tensor.Try(func() { x.PowScalar(-1) }); !errors.Is(err, tensor.ErrType) {
		t.Errorf("integers to the power of -1: %v", err)
	}
}

func TestEqualAndClose(t *testing.T) {
	x, inf, nan := ofType(dtype.Float64, 1, 2), ofType(dtype.Float32, math.Inf(1), math.Inf(-1)), ofType(dtype.Float32, math.NaN())
	for name, got := range map[string]bool{
		"equal numbers of two types":   x.Equal(ofType(dtype.Int8, 1, 2)),
		"unequal numbers":              !x.Equal(ofType(dtype.Int8, 1, 3)),
		"two shapes":                   !x.Equal(x.Unsqueeze(0)) && !x.Equal(ofType(dtype.Float64, 1)),
		"no elements":                  x.Slice(0, 0, 0, 1).Equal(x.Slice(0, 1, 1, 1)),
		"close":                        x.AllClose(x.AddScalar(1e-6)),
		"not close":                    !x.AllClose(x.AddScalar(1e-3)),
		"infinities":                   inf.AllClose(inf) && !inf.AllClose(inf.Neg()) && !x.AllClose(inf),
		"NaN is neither":               !nan.Equal(nan) && !nan.AllClose(nan),
		"a tensor that has a gradient": tensor.Leaf(x.Array()).AllClose(x),
	} {
		if !got {
			t.Error(name)
		}
	}
}
