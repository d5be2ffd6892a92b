package tensor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// ExampleEinsum computes scores of attention: a product of each query with each key, for each head.
func ExampleEinsum() {
	queries, keys := tensor.Ones(dtype.Float32, 2, 4, 3, 8), tensor.Ones(dtype.Float32, 2, 4, 5, 8)
	scores := tensor.Einsum("bhqd,bhkd->bhqk", queries, keys)
	fmt.Println(scores.Shape(), scores.Max().Item())
	// Output: [2 4 3 5] 8
}

// TestEinsumTakesWhatPyTorchTakes: broadcast sizes of 1, "..." of different lengths, repeated letters, spaces, scalars.
func TestEinsumTakesWhatPyTorchTakes(t *testing.T) {
	x := tensor.Arange(dtype.Float64, 0, 6, 1).Reshape(2, 3)
	one := tensor.Ones(dtype.Float64, 1, 3)
	for _, c := range []struct {
		equation string
		in       []*tensor.Tensor
		want     string
	}{
		{"ij, ij -> i", []*tensor.Tensor{x, one}, "[3 12]"},
		{"...j,j", []*tensor.Tensor{x, one.Squeeze(0)}, "[3 12]"},
		{"ij,...->j...", []*tensor.Tensor{x, one.Sum()}, "[9 15 21]"},
		{"ba", []*tensor.Tensor{x}, "[0 3 1 4 2 5]"},
		{"ii", []*tensor.Tensor{x.MatMul(x.T())}, "[55]"},
		{"ij,kj,lj->", []*tensor.Tensor{x, x, one}, "[83]"},
	} {
		if got := fmt.Sprint(tensor.Values[float64](tensor.Einsum(c.equation, c.in...))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.equation, got, c.want)
		}
	}
}

func TestProductsOfIntegersAreExact(t *testing.T) {
	x := tensor.FromSlice([]int64{1<<53 + 1, 2, 3, 4}, 2, 2)
	if got := fmt.Sprint(tensor.Values[int64](x.MatMul(tensor.FromSlice([]int64{1, 1}, 2)))); got != "[9007199254740995 7]" {
		t.Errorf("product of integers: %s", got)
	}
	if got := x.Cast(dtype.Int8).MatMul(x.Cast(dtype.Int8)).DType(); got != dtype.Int8 {
		t.Errorf("product of int8 is %v", got)
	}
}

func TestProductsRefuse(t *testing.T) {
	x, v := tensor.Zeros(dtype.Float32, 2, 3), tensor.Zeros(dtype.Float32, 3)
	for name, f := range map[string]func(){
		"too few operands":    func() { tensor.Einsum("ij,jk", x) },
		"too few letters":     func() { tensor.Einsum("i->i", x) },
		"different sizes":     func() { tensor.Einsum("ij,ij", x, x.T()) },
		"no diagonal":         func() { tensor.Einsum("ii", x) },
		"unknown result":      func() { tensor.Einsum("ij->k", x) },
		"a letter twice":      func() { tensor.Einsum("ij->ii", x) },
		"no letter":           func() { tensor.Einsum("i1->i", x) },
		"dot of matrices":     func() { x.Dot(x) },
		"vectors of lengths":  func() { v.MatMul(tensor.Zeros(dtype.Float32, 2)) },
		"scalars":             func() { v.MatMul(tensor.Zeros(dtype.Float32)) },
		"batches that differ": func() { x.Unsqueeze(0).BMM(tensor.Zeros(dtype.Float32, 2, 3, 2)) },
		"cross of two":        func() { x.Cross(x, 0) },
		"trace of a vector":   func() { v.Trace() },
		"axes that differ":    func() { x.TensorDot(x, []int{0}, []int{1}) },
	} {
		if err := tensor.Try(f); !errors.Is(err, tensor.ErrShape) {
			t.Errorf("%s: %v; want an error of shape", name, err)
		}
	}
}
