package dataset_test

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// Two arrays, from a file as well as from memory, become shuffled batches of pairs.
func Example() {
	images := storage.From([]uint8{0, 1, 10, 11, 20, 21, 30, 31, 40, 41}, 5, 2)
	labels := storage.From([]int64{0, 1, 2, 3, 4}, 5)

	pairs, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: images}, dataset.NamedArray{Name: "y", Array: labels, Role: dataset.Target})
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range dataset.Load(context.Background(), pairs, dataset.Options{BatchSize: 2, Seed: 1}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		x, y := batch.Fields[0], batch.Fields[1]
		fmt.Println(x, y, batch.Rows, storage.Elements[int64](y)[:len(batch.Rows)], batch.Consumed)
	}
	// Output:
	// uint8[2 2] on cpu int64[2] on cpu [1 0] [1 0] 2
	// uint8[2 2] on cpu int64[2] on cpu [3 4] [3 4] 4
	// uint8[1 2] on cpu int64[1] on cpu [2] [2] 5
}

// A loader lives across epochs, and resumes one after any number of samples.
func ExampleLoader() {
	numbers, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: storage.From([]int64{0, 1, 2, 3, 4, 5, 6, 7}, 8)})
	if err != nil {
		fmt.Println(err)
		return
	}
	loader, err := dataset.NewLoader(numbers, dataset.Options{BatchSize: 3, Seed: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, start := range []int{0, 3} {
		for batch, err := range loader.Epoch(context.Background(), 4, start) {
			fmt.Println(batch.Rows, err)
		}
	}
	// Output:
	// [3 5 6] <nil>
	// [0 2 1] <nil>
	// [7 4] <nil>
	// [0 2 1] <nil>
	// [7 4] <nil>
}

func ExampleSplit() {
	numbers, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: storage.From(make([]float32, 60_000), 60_000)})
	if err != nil {
		fmt.Println(err)
		return
	}
	train, val, err := dataset.Split(numbers, 0.1, 1)
	fmt.Println(train.Len(), val.Len(), err)
	// Output: 54000 6000 <nil>
}

// Stretches of a time series, and rows of different lengths, are arrays like any other.
func ExampleSlidingWindows() {
	series := storage.From([]float32{0, 10, 20, 30, 40}, 5)
	windows, err := dataset.SlidingWindows(series, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	values, err := storage.Read[float32](windows)
	fmt.Println(windows.Shape, values, err)
	// Output: [3 3] [0 10 20 10 20 30 20 30 40] <nil>
}

func ExampleOffsets() {
	values, offsets := storage.From([]uint8{1, 2, 3, 4, 5, 6}, 6), storage.From([]int32{0, 3, 3, 4, 6}, 5)
	rows, err := dataset.Offsets("words", values, offsets)
	if err != nil {
		fmt.Println(err)
		return
	}
	padded, err := rows.Padded(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	elements, err := storage.Read[uint8](padded)
	fmt.Println(rows.Rows, rows.MaxLength, elements, err)
	// Output: 4 3 [1 2 0 0 4 0 5 6] <nil>
}
