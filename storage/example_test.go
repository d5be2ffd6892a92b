package storage_test

import (
	"fmt"
	"os"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func Example() {
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	columns, err := a.Transpose()
	if err != nil {
		panic(err)
	}
	fmt.Println(a.With(columns), storage.Elements[float32](a))

	bytes, err := storage.Make(storage.CPU, dtype.Uint8, 3, 2)
	if err != nil {
		panic(err)
	}
	if err := a.With(columns).CopyTo(bytes); err != nil {
		panic(err)
	}
	fmt.Println(bytes, storage.Elements[uint8](bytes))
	// Output:
	// float32[3 2] on cpu [1 2 3 4 5 6]
	// uint8[3 2] on cpu [1 4 2 5 3 6]
}

func ExampleMap() {
	f, err := os.CreateTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(dtype.Bytes([]int16{1, 2, 3, 4, 5, 6, 7, 8})); err != nil {
		panic(err)
	}
	m, err := storage.Map(f)
	if err != nil {
		panic(err)
	}
	f.Close()
	data, err := m.Range(4, 12) // all but two elements
	if err != nil {
		panic(err)
	}
	a := storage.Array{Data: data, Type: dtype.Int16, View: views.Of(2, 3)}
	fmt.Println(storage.Read[int16](a))
	fmt.Println(m.Close())
	// Output:
	// [3 4 5 6 7 8] <nil>
	// <nil>
}
