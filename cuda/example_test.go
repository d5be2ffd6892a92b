package cuda_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/cuda"
	_ "github.com/h5dnn/h5dnn/cuda/cudatest" // a driver for machines without a GPU; programs leave this out
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	gpu, err := cuda.Open("cuda")
	if err != nil {
		panic(err) // says which files were looked for, and where
	}
	x, err := storage.From([]float32{1, -2, 3, -4}, 2, 2).To(gpu)
	if err != nil {
		panic(err)
	}
	columns, err := x.Transpose()
	if err != nil {
		panic(err)
	}
	y, err := storage.Make(gpu, x.Type, 2, 2)
	if err != nil {
		panic(err)
	}
	if err := gpu.Run(kernels.ReLU, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x.With(columns)}}); err != nil {
		panic(err)
	}
	elems, err := storage.Read[float32](y) // waits
	fmt.Println(y, elems, err)
	// Output:
	// float32[2 2] on cuda:0 [1 3 0 0] <nil>
}

// A step is captured once and replayed for every batch.
func ExampleDevice_Capture() {
	gpu, err := cuda.Open("cuda")
	if err != nil {
		panic(err)
	}
	sum, err := storage.From([]float32{0, 0}, 2).To(gpu)
	if err != nil {
		panic(err)
	}
	batch, err := storage.From([]float32{1, 10}, 2).To(gpu)
	if err != nil {
		panic(err)
	}
	step, err := gpu.Capture(kernels.ByData, func() error {
		return gpu.Run(kernels.Add, &kernels.Call{Out: []storage.Array{sum}, In: []storage.Array{sum, batch}})
	})
	if err != nil {
		panic(err) // names what cannot be captured
	}
	defer step.Close()
	for range 3 {
		if err := step.Replay(); err != nil {
			panic(err)
		}
	}
	fmt.Println(storage.Read[float32](sum))
	// Output:
	// [3 30] <nil>
}
