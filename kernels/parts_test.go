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
	on := maker{t, gpu, rand.New(rand.NewPCG(1, 2))}
	of, turned, image, index := on.of, on.turned, on.image, on.index
	list := func(arrays ...storage.Array) []storage.Array { return arrays }
	window := kernels.Pool2dSet{Kernel: [2]int{2, 2}}
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
		{kernels.MaxPool2d, window, list(image(15, 1, 4, 4), index(15, 1, 4, 4)), list(of(15, 1, 8, 8))},
		{kernels.MaxPool2dGrad, window, list(of(7, 1, 8, 8)), list(image(7, 1, 4, 4), index(7, 1, 4, 4))},
		{kernels.AvgPool2d, window, list(image(15, 1, 4, 4)), list(of(15, 1, 8, 8))},
	} {
		call := &kernels.Call{Out: c.out, In: c.in, Set: c.set}
		whole, once := computed(t, gpu, c.k, call)
		undo := kernels.SetMost(200)
		parts, often := computed(t, gpu, c.k, call)
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

// A maker makes arrays of random numbers on a device.
type maker struct {
	t *testing.T
	d storage.Device
	r *rand.Rand
}

func (m maker) array(v views.View) storage.Array {
	floats := make([]float32, v.Len())
	for i := range floats {
		floats[i] = float32(m.r.NormFloat64())
	}
	return m.moved(storage.From(floats, len(floats))).With(v)
}

func (m maker) moved(a storage.Array) storage.Array {
	a, err := a.To(m.d)
	if err != nil {
		m.t.Fatal(err)
	}
	return a
}

func (m maker) of(shape ...int) storage.Array { return m.array(views.Of(shape...)) }

func (m maker) turned(rows, cols int) storage.Array {
	return m.array(views.View{Shape: []int{rows, cols}, Stride: []int{1, rows}})
}

func (m maker) image(n, c, h, w int) storage.Array { return m.array(views.ChannelsLast(n, c, h, w)) }

// index returns zeros, as MaxPool2d's second output has them.
func (m maker) index(n, c, h, w int) storage.Array {
	return m.moved(storage.From(make([]uint8, n*c*h*w), n, c, h, w))
}

// computed returns what a call computes, and how many launches that took.
func computed(t *testing.T, gpu kernels.Runner, k *kernels.Kernel, c *kernels.Call) (results [][]float64, launches int) {
	before := launched()
	if err := gpu.Run(k, c); err != nil {
		t.Fatal(err)
	}
	for _, a := range c.Out {
		floats, err := storage.Read[float64](a)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, floats)
	}
	return results, launched() - before
}

func launched() (n int) {
	for _, times := range cudatest.Launched() {
		n += times
	}
	return n
}
