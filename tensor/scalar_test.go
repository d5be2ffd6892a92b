package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ofType returns a vector of a type.
func ofType(t dtype.Type, elems ...float64) *tensor.Tensor {
	return tensor.FromSlice(elems, len(elems)).Cast(t)
}

// TestNumbersPromoteByTheirKind has the results of PyTorch 2.15.
func TestNumbersPromoteByTheirKind(t *testing.T) {
	type myInt int8
	u8, i64, b, h := ofType(dtype.Uint8, 1, 200), ofType(dtype.Int64, 7, -7), ofType(dtype.Bool, 1, 0), ofType(dtype.Float16, 1.5, 2)
	for _, test := range []struct {
		got  *tensor.Tensor
		want string
	}{
		{u8.AddScalar(100), "uint8 [101 44]"}, // wraps
		{u8.SubScalar(myInt(2)), "uint8 [255 198]"},
		{u8.RSubScalar(2), "uint8 [1 58]"},
		{u8.MulScalar(true), "uint8 [1 200]"},
		{u8.AddScalar(2.5), "float32 [3.5 202.5]"},
		{u8.MulScalar(float32(0.5)), "float32 [0.5 100]"},
		{i64.DivScalar(2), "float32 [3.5 -3.5]"},
		{i64.RDivScalar(14), "float32 [2 -2]"},
		{b.AddScalar(1), "int64 [2 1]"},
		{b.AddScalar(true), "bool [1 1]"},
		{h.AddScalar(1e10), "float16 [+Inf +Inf]"},
		{h.MulScalar(uint8(2)), "float16 [3 4]"},
		{u8.LtScalar(300), "bool [1 1]"},
		{u8.EqScalar(257), "bool [0 0]"}, // PyTorch's wraps
		{u8.GtScalar(-1), "bool [1 1]"},
		{i64.LtScalar(uint64(math.MaxUint64)), "bool [1 1]"},
		{i64.EqScalar(7.0), "bool [1 0]"},
		{b.GeScalar(1), "bool [1 0]"},
	} {
		if got := fmt.Sprint(test.got.DType(), tensor.Values[float64](test.got)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	big := tensor.FromSlice([]int64{1 << 53}, 1).AddScalar(int64(1<<53 + 1))
	if got := tensor.Values[int64](big)[0]; got != 1<<54+1 {
		t.Errorf("2^53 + (2^53 + 1): got %d", got)
	}
	for name, call := range map[string]func(){
		"a string":           func() { h.AddScalar("1") },
		"nil":                func() { i64.MulScalar(nil) },
		"300 in uint8":       func() { u8.AddScalar(300) },
		"-1 in uint8":        func() { u8.AddScalar(-1) },
		"2^63 in int64":      func() { i64.AddScalar(uint64(1 << 63)) },
		"a number of float8": func() { ofType(dtype.Float8E4M3, 1).AddScalar(1) },
	} {
		if err := tensor.Try(call); !errors.Is(err, tensor.ErrType) {
			t.Errorf("%s: error %v; want one of types", name, err)
		}
	}
}

// TestOperandsArePromoted in products, losses and choices, as in arithmetic.
func TestOperandsArePromoted(t *testing.T) {
	x, y := ofType(dtype.Float64, 1, 2), ofType(dtype.Float32, 3, 4)
	i := tensor.FromArray(storage.From([]int32{5, 6}, 2))
	for name, got := range map[string]*tensor.Tensor{
		"matmul": x.Reshape(1, 2).MatMul(y.Reshape(2, 1)),
		"where":  tensor.Where(x.LtScalar(2), x, i),
		"loss":   tensor.MeanSquaredError(y, x),
		"div":    i.Div(x),
	} {
		if got.DType() != dtype.Float64 {
			t.Errorf("%s: %v, want float64", name, got.DType())
		}
	}
}
