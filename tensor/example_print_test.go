package tensor_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/tensor"
)

// A tensor prints as in NumPy, with its type and shape after it.
func ExampleTensor_String() {
	fmt.Println(tensor.New([][]float64{{1, 0.5}, {-2, 10}}))
	fmt.Println(tensor.Arange(tensor.Int64, 0, 2000, 1))
	fmt.Println(tensor.New(true))
	fmt.Println(tensor.NewMeta(tensor.Float32, 64, 784))
	// Output:
	// [[ 1.   0.5]
	//  [-2.  10. ]] float32[2 2]
	// [   0    1    2 ... 1997 1998 1999] int64[2000]
	// True bool[]
	// float32[64 784] on meta
}

// Literals of ints are int64, of floats float32; ragged and mixed ones are refused.
func ExampleNew() {
	fmt.Println(tensor.New([]int{1, 2, 3}))
	fmt.Println(tensor.New([]float64{1, 2.5}, tensor.Float64))
	fmt.Println(tensor.New([]any{[]bool{true, false}, []bool{false, true}}))
	fmt.Println(tensor.Try(func() { tensor.New([][]int{{1, 2}, {3}}) }))
	fmt.Println(tensor.Try(func() { tensor.New([]any{1, 2.5}) }))
	// Output:
	// [1 2 3] int64[3]
	// [1.  2.5] float64[2]
	// [[ True False]
	//  [False  True]] bool[2 2]
	// new: a ragged literal: 1 elements along axis 1 of [2 2]
	// new: int and float64 in one literal; want one kind of number
}

// Elements, rows, masks and tensors of indices.
func ExampleTensor_IndexBy() {
	x := tensor.Arange(tensor.Float32, 0, 12, 1).Reshape(3, 4)
	x.Set(100, 1, -1)
	fmt.Println(x.At(1, 3), tensor.At[int64](x, 2, 0))
	fmt.Println(x.Index("::-1, 1:3"))
	fmt.Println(x.IndexBy(tensor.New([]int{2, 0, 2}), tensor.New([]int{0, 1, -1})))
	fmt.Println(x.IndexBy(x.GtScalar(9)))
	x.Index("0").Assign(tensor.New(7))
	x.InPlace(func(x *tensor.Tensor) *tensor.Tensor { return x.MaskedFill(x.GtScalar(9), 0) })
	fmt.Println(x)
	// Output:
	// 100 8
	// [[ 9. 10.]
	//  [ 5.  6.]
	//  [ 1.  2.]] float32[3 2]
	// [ 8.  1. 11.] float32[3]
	// [100.  10.  11.] float32[3]
	// [[7. 7. 7. 7.]
	//  [4. 5. 6. 0.]
	//  [8. 9. 0. 0.]] float32[3 4]
}

// Keys make draws repeatable one by one, ManualSeed the draws of a whole program.
func ExampleManualSeed() {
	tensor.ManualSeed(7)
	first, second := tensor.Permutation(5), tensor.Permutation(5)
	tensor.ManualSeed(7)
	fmt.Println(first, second, tensor.Permutation(5))
	key := tensor.Key{Seed: 3}
	fmt.Println(key.RandInt(tensor.Int64, 10, 20, 6), key.RandInt(tensor.Int64, 10, 20, 6))
	// Output:
	// [0 2 3 4 1] int64[5] [3 0 1 2 4] int64[5] [0 2 3 4 1] int64[5]
	// [18 16 12 12 17 18] int64[6] [18 16 12 12 17 18] int64[6]
}
