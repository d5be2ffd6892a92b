package tensors_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// Standardize a dataset of any size into another file. Nothing is read before it is needed, and never more than
// some blocks of it are in memory.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := tensors.Save(file("data.h5"), tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)); err != nil {
		log.Fatal(err)
	}

	x, err := tensors.Open(file("data.h5"), "data")
	if err != nil {
		log.Fatal(err)
	}
	mean := x.Mean(0, tensor.KeepDims)
	deviation := x.Sub(mean).Mul(x.Sub(mean)).Mean(0, tensor.KeepDims).Sqrt()
	standardized := x.Sub(mean).Div(deviation)

	w, err := tensors.Create(file("out.h5"))
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()             // does nothing after Close
	ctx := context.Background() // signal.NotifyContext stops it by Ctrl-C
	if err := w.Write(ctx, "train/x", standardized, tensors.Layout{Chunks: []int{2, 2}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil { // now out.h5 exists
		log.Fatal(err)
	}

	y, err := tensors.Open(file("out.h5"), "train/x[-1]")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", tensor.Values[float32](y))
	// Output: [1.2247 1.2247]
}

// Append to a dataset without a limit, and read it chunk by chunk.
func ExampleWriter() {
	name := filepath.Join(os.TempDir(), fmt.Sprint("tensors", os.Getpid(), ".h5"))
	defer os.Remove(name)
	w, err := tensors.Create(name)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort()
	d, err := w.CreateDataset("log", dtype.Int64, []int{0, 2}, tensors.Layout{MaxShape: []int{tensors.Unlimited, 2}, Chunks: []int{2, 2}})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range [][]int64{{1, 2}, {3, 4}, {5, 6}} {
		if err := d.Append(tensor.FromSlice(row, 2)); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	x, err := tensors.Open(name, "log")
	if err != nil {
		log.Fatal(err)
	}
	for start, block := range x.Blocks(4) {
		fmt.Println(start, tensor.Values[int64](block))
	}
	// Output:
	// [0 0] [1 2 3 4]
	// [2 0] [5 6]
}
