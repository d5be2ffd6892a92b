package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var pools = []struct {
	shape   [4]int
	options Pool2dOptions
}{
	{[4]int{2, 3, 8, 8}, Pool2dOptions{Kernel: [2]int{2, 2}}},
	{[4]int{1, 40, 7, 9}, Pool2dOptions{Kernel: [2]int{3, 2}, Stride: [2]int{1, 2}, Padding: [2]int{2, 1}}},
	{[4]int{3, 16, 5, 5}, Pool2dOptions{Kernel: [2]int{5, 5}}},
	{[4]int{2, 17, 6, 6}, Pool2dOptions{Kernel: [2]int{2, 2}, Stride: [2]int{3, 3}}},
	{[4]int{1, 1, 1, 1}, Pool2dOptions{Kernel: [2]int{1, 1}}},
	{[4]int{2, 5, 7, 9}, Pool2dOptions{Kernel: [2]int{2, 2}}},
	{[4]int{1, 18, 5, 8}, Pool2dOptions{Kernel: [2]int{2, 3}, Stride: [2]int{3, 3}, Padding: [2]int{0, 2}}},
	{[4]int{0, 2, 4, 4}, Pool2dOptions{Kernel: [2]int{2, 2}}},
	{[4]int{2, 33, 20, 21}, Pool2dOptions{Kernel: [2]int{3, 3}, Stride: [2]int{2, 2}, Padding: [2]int{1, 1}}},
	{[4]int{12, 6, 14, 14}, Pool2dOptions{Kernel: [2]int{2, 2}}},
}

func outOf(shape [4]int, options Pool2dOptions) []int {
	y := []int{shape[0], shape[1], 0, 0}
	for i := range 2 {
		y[2+i], _ = windows(shape[2+i], options.Kernel[i], options.withDefaults().Stride[i], options.Padding[i])
	}
	return y
}

func TestAvgPoolAgreesHoweverImagesLie(t *testing.T) {
	for _, p := range pools {
		for _, lx := range layouts {
			for _, ly := range layouts {
				x, y := lx.of(p.shape[:]...), ly.of(outOf(p.shape, p.options)...)
				agree(t, AvgPool2d, []views.View{y}, []views.View{x}, p.options, 1e-5)
				agree(t, AvgPool2dGrad, []views.View{x}, []views.View{y}, p.options, 1e-5)
			}
		}
	}
}

func TestMaxPoolAgreesHoweverImagesLie(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range pools {
		for _, lx := range layouts {
			for _, ly := range layouts {
				for _, index := range []dtype.Type{dtype.Uint8, dtype.Int32} {
					x, y := lx.of(p.shape[:]...), ly.of(outOf(p.shape, p.options)...)
					agree(t, MaxPool2d, []views.View{y}, []views.View{x}, p.options, 0)
					agreeMaxPool(t, r, p.options, x, y, index)
				}
			}
		}
	}
}

// agreeMaxPool compares both ways of the pooling and its gradient where many
// elements are equal, so that the first of them has to win, and some are NaN.
func agreeMaxPool(t *testing.T, r *rand.Rand, options Pool2dOptions, x, y views.View, index dtype.Type) {
	t.Helper()
	in, dy := operandsOf(r, true, x), operandsOf(r, true, y)
	for i := range storage.Elements[float32](in.f32[0]) {
		v := float32(r.IntN(3))
		if r.IntN(20) == 0 {
			v = float32(math.NaN())
		}
		storage.Elements[float32](in.f32[0])[i], storage.Elements[float64](in.f64[0])[i] = v, float64(v)
	}
	_, hi := y.Bounds()
	var winners, gradients, rectified, values [2]storage.Array
	for i, way := range []func(k *Kernel, c *Call) error{
		func(k *Kernel, c *Call) error { return k.Reference(c) },
		func(k *Kernel, c *Call) error { return CPU.Run(k, c) },
	} {
		data, err := storage.CPU.Alloc((hi + 1) * index.Size())
		if err != nil {
			t.Fatal(err)
		}
		winners[i] = storage.Array{Data: data, Type: index, View: y}
		values[i] = operandsOf(r, false, y).f32[0]
		gradients[i], rectified[i] = operandsOf(r, false, x).f32[0], operandsOf(r, false, x).f32[0]
		if err := way(MaxPool2d, &Call{Out: []storage.Array{values[i], winners[i]}, In: in.f32, Options: options}); err != nil {
			t.Fatal(err)
		}
		if err := way(MaxPool2dGrad, &Call{Out: gradients[i : i+1], In: []storage.Array{dy.f32[0], winners[i]}, Options: options}); err != nil {
			t.Fatal(err)
		}
		if err := way(MaxPool2dGrad, &Call{Out: rectified[i : i+1], In: []storage.Array{dy.f32[0], winners[i], values[i]}, Options: options}); err != nil {
			t.Fatal(err)
		}
	}
	if want, got := winners[0].Data.(storage.Host).Bytes(), winners[1].Data.(storage.Host).Bytes(); !slices.Equal(got, want) {
		t.Fatalf("%v %+v %v: winners\n%v, want\n%v", x, options, index, got, want)
	}
	about := fmt.Sprintf("%v %+v %v", x, options, index)
	compare(t, about+": gradient", wide32(gradients[1]), wide32(gradients[0]), 1e-5)
	compare(t, about+": gradient of relu", wide32(rectified[1]), wide32(rectified[0]), 1e-5)
	for i, want := range storage.Elements[float32](values[0]) {
		if got := storage.Elements[float32](values[1])[i]; got != want && (got == got || want == want) {
			t.Fatalf("%s: value at %d: got %v, want %v", about, i, got, want)
		}
	}
}
