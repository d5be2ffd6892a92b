package maker_test

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

func ExampleMaker_Save() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chdir(folder); err != nil {
		panic(err)
	}
	m := maker.Maker{File: "dice.h5", Noun: "throws", Share: 4, Samples: func(r *rand.Rand, n int) map[string]*tensor.Tensor {
		points := make([]int8, n)
		for i := range points {
			points[i] = int8(1 + r.IntN(6))
		}
		return map[string]*tensor.Tensor{"points": tensor.FromSlice(points, n)}
	}}
	if err := m.Save(8, 1); err != nil {
		panic(err)
	}
	all, err := tensors.LoadAll(m.File)
	if err != nil {
		panic(err)
	}
	fmt.Println(all["val/points"].Shape())
	// Output:
	// dice.h5: 8 throws to train on, 2 for validation
	// [2]
}
