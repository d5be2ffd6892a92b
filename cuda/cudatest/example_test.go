package cudatest_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/cuda"
	_ "github.com/h5dnn/h5dnn/cuda/cudatest"
)

// To import the package is to have two GPUs, of different age.
func Example() {
	gpus, err := cuda.Devices()
	if err != nil {
		panic(err)
	}
	for _, d := range gpus {
		fmt.Println(d, d.Model, d.Capability)
	}
	// Output:
	// cuda:0 interpreter 80
	// cuda:1 interpreter 75
}
