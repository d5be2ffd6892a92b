package saturate_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/saturate"
	"github.com/h5dnn/h5dnn/tensor"
)

func of(t dtype.Type, elems ...float64) *tensor.Tensor {
	return tensor.FromSlice(elems, len(elems)).Cast(t)
}

// TestSaturates pins each rule of augpy.
func TestSaturates(t *testing.T) {
	u8, i8 := of(dtype.Uint8, 0, 100, 255), of(dtype.Int8, -128, 0, 127)
	for name, test := range map[string]struct {
		got  *tensor.Tensor
		want string
	}{
		"no wrapping below":       {saturate.Sub(u8, 40), "uint8 [0 60 215]"},
		"no wrapping above":       {saturate.Add(u8, 200), "uint8 [200 255 255]"},
		"numbers keep the type":   {saturate.Add(u8, 0.5), "uint8 [0 100 255]"},
		"half to even":            {saturate.Mul(of(dtype.Uint8, 1, 3, 5), 0.5), "uint8 [0 2 2]"},
		"negative numbers":        {saturate.Mul(i8, -1), "int8 [127 0 -127]"},
		"tensors":                 {saturate.Add(i8, i8), "int8 [-128 0 127]"},
		"broadcasting":            {saturate.Add(u8, of(dtype.Uint8, 100)), "uint8 [100 200 255]"},
		"quotients":               {saturate.Div(u8, 8), "uint8 [0 12 32]"},
		"quotients by 0":          {saturate.Div(i8, 0), "int8 [-128 0 127]"},
		"rsub":                    {saturate.RSub(u8, 5), "uint8 [5 0 0]"},
		"rdiv":                    {saturate.RDiv(u8, 250), "uint8 [255 2 1]"},
		"fma of unsigned, signed": {saturate.FMA(2, u8, i8), "int8 [-128 127 127]"},
		"fma of floats":           {saturate.FMA(2, of(dtype.Float32, 1), of(dtype.Float32, 0.5)), "float32 [2.5]"},
		"lt":                      {saturate.Lt(u8, 100), "uint8 [1 0 0]"},
		"le":                      {saturate.Le(u8, 100), "uint8 [1 1 0]"},
		"eq":                      {saturate.Eq(u8, u8), "uint8 [1 1 1]"},
		"gt":                      {saturate.Gt(u8, 99.5), "uint8 [0 1 1]"},
		"ge":                      {saturate.Ge(u8, -1), "uint8 [1 1 1]"},
		"sum":                     {saturate.Sum(u8), "uint8 [255]"},
		"sum of an axis":          {saturate.Sum(u8.Reshape(3, 1), 1, tensor.KeepDims), "uint8 [0 100 255]"},
		"sum, upcast":             {saturate.SumUpcast(u8), "float32 [355]"},
		"cast":                    {saturate.Cast(of(dtype.Float64, -3e9, -0.5, 1.5, 2.5, math.NaN(), math.Inf(1)), dtype.Int32), "int32 [-2.147483648e+09 0 2 2 0 2.147483647e+09]"},
		"cast to uint16":          {saturate.Cast(of(dtype.Float32, -1, 65534.5, 1e9), dtype.Uint16), "uint16 [0 65534 65535]"},
		"cast of integers":        {saturate.Cast(of(dtype.Int64, -5, 300), dtype.Uint8), "uint8 [0 255]"},
		"cast to uint64":          {saturate.Cast(of(dtype.Int64, -5, 300), dtype.Uint64), "uint64 [0 300]"},
		"floats are not limited":  {saturate.Add(of(dtype.Float32, 1), math.Inf(1)), "float32 [+Inf]"},
	} {
		if got := fmt.Sprint(test.got.DType(), tensor.Values[float64](test.got)); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
	for name, f := range map[string]func(){
		"two types":             func() { saturate.Add(u8, i8) },
		"fma of two unsigned":   func() { saturate.FMA(1, u8, u8) },
		"products of integers":  func() { saturate.GEMM(u8.Reshape(3, 1), u8.Reshape(1, 3), nil, 1, 0) },
		"a string is no number": func() { saturate.Add(u8, "1") },
	} {
		if err := tensor.Try(f); !errors.Is(err, tensor.ErrType) {
			t.Errorf("%s: error %v, want one of types", name, err)
		}
	}
}

// TestCastIsDtypesSaturate, for all pairs of a float and an integer.
func TestCastIsDtypesSaturate(t *testing.T) {
	elems := []float64{0, -0.5, 0.5, 1.5, 127.5, -128.5, 254.5, 255.5, 32767.5, -32769, 65535.5, 2147483647.5, -2147483649, 4294967295.5, 0x1p62, 0x1p63, -0x1p63, 0x1p64, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, to := range dtype.All() {
		if !to.IsInt() {
			continue
		}
		want := make([]byte, len(elems)*to.Size())
		if err := dtype.Saturate(want, to, dtype.Bytes(elems), dtype.Float64); err != nil {
			t.Fatal(err)
		}
		got, _ := saturate.Cast(tensor.FromSlice(elems, len(elems)), to).Array().Bytes()
		if string(got) != string(want) {
			t.Errorf("%v: got %x, want %x", to, got, want)
		}
	}
}

func TestGEMM(t *testing.T) {
	a, c := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2), tensor.FromSlice([]float32{1, 1, 1, 1}, 2, 2)
	if got := fmt.Sprint(tensor.Values[float32](saturate.GEMM(a, a, c, 0.5, 2))); got != "[5.5 7 9.5 13]" {
		t.Errorf("got %s", got)
	}
	if saturate.TempType(dtype.Int16) != dtype.Float32 || saturate.TempType(dtype.Uint32) != dtype.Float64 {
		t.Error("temporary types")
	}
}

// Example darkens an image, in which package tensor's integers would wrap around.
func Example() {
	image := tensor.FromSlice([]uint8{10, 100, 250}, 3)
	fmt.Println(tensor.Values[uint8](image.SubScalar(40)), tensor.Values[uint8](saturate.Sub(image, 40)))
	// Output: [226 60 210] [0 60 210]
}
