package saturate_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/saturate"
	"github.com/h5dnn/h5dnn/tensor"
)

// The examples of augpy's page on tensors, as a program that runs.
func Example_augpy() {
	t := tensor.Zeros(dtype.Uint8, 2, 3)
	t.Index(":").Fill(40)
	t.Index("0, ::2").AddInPlace(tensor.Full(dtype.Uint8, 60, 2))
	u8 := tensor.Values[uint8]
	fmt.Println(u8(t), t.Index("0, 1").Shape(), t.Strides(), t.NBytes())

	// Arithmetic saturates, and a number never changes the type.
	fmt.Println(u8(saturate.Sub(t, 60)), u8(saturate.RSub(t, 50)), u8(saturate.Mul(t, 3.5)))
	fmt.Println(u8(saturate.Div(t, 3)), u8(saturate.Add(t, tensor.New([]uint8{200, 0, 1}))))

	// s·x + y: y, and the result, have the signed type of the width of x.
	offset := tensor.FromSlice([]int8{-128, 0, 127}, 3)
	fmt.Println(saturate.FMA(2, tensor.FromSlice([]uint8{100, 100, 100}, 3), offset))

	// Comparisons are 0 and 1 as uint8.
	fmt.Println(u8(saturate.Ge(t, 100)), saturate.Lt(t, 50).DType())

	// Sums saturate, or are floats.
	fmt.Println(u8(saturate.Sum(t)), tensor.Values[float32](saturate.SumUpcast(t)), saturate.Sum(t, 0, tensor.KeepDims).Shape())

	// Casts round half to even and saturate; results may be written to memory that is given.
	x := tensor.New([]float32{-3, 0.5, 1.5, 300})
	out := tensor.Zeros(dtype.Uint8, 4)
	fmt.Println(u8(tensor.Into(out, x, func(x *tensor.Tensor) *tensor.Tensor { return saturate.Cast(x, dtype.Uint8) })))

	// C = alpha·A·B + beta·C.
	a := tensor.New([][]float32{{1, 2}, {3, 4}})
	fmt.Println(tensor.Values[float32](saturate.GEMM(a, a, tensor.Ones(dtype.Float32, 2, 2), 2, 10)))
	// Output:
	// [100 40 100 40 40 40] [] [3 1] 6
	// [40 0 40 0 0 0] [0 10 0 10 10 10] [255 140 255 140 140 140]
	// [33 13 33 13 13 13] [255 40 101 240 40 41]
	// [ 72 127 127] int8[3]
	// [1 0 1 0 0 0] uint8
	// [255] [360] [1 3]
	// [0 0 2 255]
	// [24 30 40 54]
}

// Quadrants: numbers are copied in where shapes are the same exactly, memory is shared without a copy, and an operation of
// one's own with its derivative is a tensor.Custom (see its example).
func Example_quadrants() {
	field := tensor.Zeros(dtype.Float32, 4, 3, 2)
	host := make([]float32, 24)
	for i := range host {
		host[i] = float32(i)
	}
	fmt.Println(tensor.Try(func() { tensor.FromSlice(host, 4, 3) }))
	field.Assign(tensor.FromSlice(host, 4, 3, 2)) // a copy
	shared := tensor.FromSlice(host, 4, 3, 2)     // no copy
	shared.MulInPlace(tensor.Full(dtype.Float32, 2, 1))
	fmt.Println(host[23], field.At(3, 2, 1))
	// Output:
	// from: 24 elements do not fill [4 3]
	// 46 23
}
