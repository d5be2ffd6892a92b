package tensor_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

func ExampleArange() {
	fmt.Println(tensor.Values[int64](tensor.Arange(dtype.Int64, 0, 10, 3)))
	fmt.Println(tensor.Values[float32](tensor.Linspace(dtype.Float32, 0, 1, 5)))
	fmt.Println(tensor.Values[float32](tensor.Zeros(dtype.Float32, 3)), tensor.Values[uint8](tensor.Ones(dtype.Uint8, 3)))
	fmt.Println(tensor.Values[float64](tensor.Eye(dtype.Float64, 2)))
	x := tensor.Key{Seed: 1}.Rand(dtype.Float32, 2, 3)
	fmt.Println(x.DType(), x.Shape(), x.Rank(), x.Len())
	// Output:
	// [0 3 6 9]
	// [0 0.25 0.5 0.75 1]
	// [0 0 0] [1 1 1]
	// [1 0 0 1]
	// float32 [2 3] 2 6
}

// A gradient that is recorded can be differentiated in turn.
func ExampleGrad() {
	x := tensor.FromSlice([]float64{1, 2, 3}, 3).RequireGrad()
	y := x.Mul(x).Mul(x).Sum() // Σ x³
	first := tensor.Grad([]*tensor.Tensor{y}, []*tensor.Tensor{x}, tensor.GradOptions{CreateGraph: true})[0]
	second := tensor.Gradients(first.Sum())[x]
	fmt.Println(tensor.Values[float64](first), tensor.Values[float64](second))
	// Output: [3 12 27] [6 12 18]
}

// Shapes are checked without elements.
func ExampleNewMeta() {
	x, w := tensor.NewMeta(dtype.Float32, 64, 784), tensor.NewMeta(dtype.Float32, 10, 784)
	fmt.Println(tensor.Linear(x, w, nil, tensor.NoActivation).Shape())
	fmt.Println(tensor.Try(func() { tensor.Linear(x, w.T(), nil, tensor.NoActivation) }))
	// Output:
	// [64 10]
	// linear: input [64 784] and weight [784 10]; want (N, in) and (out, in)
}
