package kernels_test

import (
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestWhatIsTooLargeForALaunchIsComputedInParts has a GPU take few elements at
// once, and wants the bits of a GPU that takes them all.
func TestWhatIsTooLargeForALaunchIsComputedInParts(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	r := rand.New(rand.NewPCG(1, 2))
	array := func(v views.View) storage.Array {
		floats := make([]float32, v.Len())
		for i := range floats {
			floats[i] = float32(r.NormFloat64())
		}
		a, err := storage.From(floats, len(floats)).To(gpu)
		if err != nil {
			t.Fatal(err)
		}
		return a.With(v)
	}
	of := func(shape ...int) storage.Array { return array(views.Of(shape...)) }
	turned := func(rows, cols int) storage.Array {
		return array(views.View{Shape: []int{rows, cols}, Stride: []int{1, rows}})
	}
	image := func(n, c, h, w int) storage.Array { return array(views.ChannelsLast(n, c, h, w)) }
	list := func(arrays ...storage.Array) []storage.Array { return arrays }
	window := kernels.Pool2dSet{Kernel: [2]int{2, 2}}
	index := func(n, c, h, w int) storage.Array {
		a, err := storage.From(make([]uint8, n*c*h*w), n, c, h, w).To(gpu)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		k       *kernels.Kernel
		set     any
		out, in []storage.Array
	}{
		{kernels.Add, nil, list(turned(30, 70)), list(of(30, 70), turned(30, 70))},
		{kernels.Uniform, kernels.RandomSet{Seed: 3, B: 1}, list(turned(30, 70)), nil},
		{kernels.MatMul, nil, list(turned(500, 7)), list(of(500, 3), of(3, 7))},
		{kernels.MatMul, nil, list(of(2, 7, 500)), list(of(2, 7, 3), of(3, 500))},
		{kernels.Linear, nil, list(of(5, 500)), list(of(5, 3), of(500, 3), of(500))},
		{kernels.Conv2d, nil, list(image(7, 2, 6, 6)), list(of(7, 3, 8, 8), of(2, 3, 3, 3), of(2))},
		{kernels.Conv2dGradX, nil, list(of(7, 3, 8, 8)), list(image(7, 2, 6, 6), of(2, 3, 3, 3))},
		{kernels.MaxPool2d, window, list(image(7, 1, 4, 4), index(7, 1, 4, 4)), list(of(7, 1, 8, 8))},
		{kernels.MaxPool2dGrad, window, list(of(7, 1, 8, 8)), list(image(7, 1, 4, 4), index(7, 1, 4, 4))},
		{kernels.AvgPool2d, window, list(image(7, 1, 4, 4)), list(of(7, 1, 8, 8))},
	} {
		compute := func() (results [][]float64, launches int) {
			before := launched()
			if err := gpu.Run(c.k, &kernels.Call{Out: c.out, In: c.in, Set: c.set}); err != nil {
				t.Fatal(err)
			}
			for _, a := range c.out {
				floats, err := storage.Read[float64](a)
				if err != nil {
					t.Fatal(err)
				}
				results = append(results, floats)
			}
			return results, launched() - before
		}
		whole, once := compute()
		undo := kernels.SetMost(200)
		parts, often := compute()
		undo()
		if often <= once {
			t.Errorf("%s: %d launches, and %d of small parts", c.k.Name, once, often)
		}
		for i := range whole {
			for k, want := range whole[i] {
				if got := parts[i][k]; got != want {
					t.Fatalf("%s: output %d, element %d is %v in parts, %v at once", c.k.Name, i, k, got, want)
				}
			}
		}
	}
}

func launched() (n int) {
	for _, times := range cudatest.Launched() {
		n += times
	}
	return n
}
