package tensor_test

import (
	"fmt"
	"os"

	"github.com/h5dnn/h5dnn/cuda"
	_ "github.com/h5dnn/h5dnn/cuda/cudatest" // GPUs for machines without one; programs leave this out
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Two kernels from outside make an operation: one for its value, one for its gradient.
// cuda.CUDA("softsign.cu", source) takes CUDA C++ where this takes PTX, if NVRTC is installed.
func ExampleCustom() {
	text, err := os.ReadFile("../cuda/testdata/softsign.ptx")
	if err != nil {
		panic(err)
	}
	program := cuda.PTX("softsign.ptx", string(text))
	softsign := tensor.Custom{
		Name:     "softsign",
		Forward:  cuda.Function{Program: program, Entry: "softsign_float32"}.Kernel("softsign"),             // (y, x, n)
		Backward: cuda.Function{Program: program, Entry: "softsign_slope_float32"}.Kernel("softsign slope"), // (dx, x, y, dy, n)
	}

	gpu, err := cuda.Open("cuda")
	if err != nil {
		panic(err)
	}
	a, err := storage.From([]float32{-3, 0, 1}, 3).To(gpu)
	if err != nil {
		panic(err)
	}
	x := tensor.Leaf(a)
	y := softsign.Apply(x)
	y.Sum().Backward()
	fmt.Println(tensor.Values[float32](y), tensor.Values[float32](x.Grad))
	// Output: [-0.75 0 0.5] [0.0625 1 0.25]
}
