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
	shape []int
	set   PoolOptions
}{
	{[]int{2, 3, 8, 8}, PoolOptions{Kernel: [3]int{2, 2}}},
	{[]int{1, 40, 7, 9}, PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{1, 2}, Padding: Pad(1, 1)}},
	{[]int{3, 16, 5, 5}, PoolOptions{Kernel: [3]int{5, 5}}},
	{[]int{2, 17, 6, 6}, PoolOptions{Kernel: [3]int{2, 2}, Stride: [3]int{3, 3}}},
	{[]int{1, 1, 1, 1}, PoolOptions{Kernel: [3]int{1, 1}}},
	{[]int{2, 5, 7, 9}, PoolOptions{Kernel: [3]int{2, 2}}},
	{[]int{1, 18, 5, 8}, PoolOptions{Kernel: [3]int{2, 3}, Stride: [3]int{3, 3}, Padding: [3][2]int{{0, 1}, {1, 0}}}},
	{[]int{0, 2, 4, 4}, PoolOptions{Kernel: [3]int{2, 2}}},
	{[]int{2, 33, 20, 21}, PoolOptions{Kernel: [3]int{3, 3}, Stride: [3]int{2, 2}, Padding: Pad(1, 1)}},
	{[]int{12, 6, 14, 14}, PoolOptions{Kernel: [3]int{2, 2}}},
	{[]int{2, 3, 11}, PoolOptions{Kernel: [3]int{3}, Stride: [3]int{2}, Padding: Pad(1), ExcludePadding: true}},
	{[]int{2, 20, 4, 5, 6}, PoolOptions{Kernel: [3]int{2, 3, 2}, Stride: [3]int{2, 1, 2}, Padding: Pad(1, 1, 0)}},
	{[]int{1, 3, 8, 7}, PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{2, 3}, Padding: Pad(1, 0), Ceil: true}},
	{[]int{1, 3, 8, 7}, PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{3, 3}, Padding: Pad(1, 1), Ceil: true, ExcludePadding: true}},
	{[]int{2, 17, 9, 8}, PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{1, 2}, Dilation: [3]int{2, 3}, Padding: Pad(1, 1)}},
	{[]int{2, 4, 9}, PoolOptions{Kernel: [3]int{2}, Stride: [3]int{4}, Dilation: [3]int{3}}},
}

func outOf(shape []int, set PoolOptions) []int {
	axes := len(shape) - 2
	w, err := windowOf(set.Kernel, set.Stride, set.Dilation, set.Padding, axes, set.Kernel[:axes])
	must(err)
	y := slices.Clone(shape[:2])
	for axis, size := range shape[2:] {
		n, err := w.count(axis+3-axes, size, set.Ceil)
		must(err)
		y = append(y, n)
	}
	return y
}

func TestAvgPoolMatchesReferenceInEveryLayout(t *testing.T) {
	for _, p := range pools {
		if p.set.Dilation != [3]int{} {
			continue
		}
		for _, lx := range layouts {
			for _, ly := range layouts {
				x, y := lx.of(p.shape...), ly.of(outOf(p.shape, p.set)...)
				agree(t, AvgPool, []views.View{y}, []views.View{x}, p.set, 1e-5)
				agree(t, AvgPoolGrad, []views.View{x}, []views.View{y}, p.set, 1e-5)
			}
		}
	}
}

func TestMaxPoolMatchesReferenceInEveryLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range pools {
		for _, lx := range layouts {
			for _, ly := range layouts {
				x, y := lx.of(p.shape...), ly.of(outOf(p.shape, p.set)...)
				agree(t, MaxPool, []views.View{y}, []views.View{x}, p.set, 0)
				agreeMaxPool(t, r, p.set, x, y)
			}
		}
	}
}

// agreeMaxPool compares both implementations of the pooling and its gradient where many
// elements are equal, so that the first of them has to win, and some are NaN.
func agreeMaxPool(t *testing.T, r *rand.Rand, set PoolOptions, x, y views.View) {
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
		data, err := storage.CPU.Alloc((hi + 1) * 4)
		if err != nil {
			t.Fatal(err)
		}
		winners[i] = storage.Array{Data: data, Type: dtype.Int32, View: y}
		values[i] = operandsOf(r, false, y).f32[0]
		gradients[i], rectified[i] = operandsOf(r, false, x).f32[0], operandsOf(r, false, x).f32[0]
		if err := way(MaxPool, &Call{Out: []storage.Array{values[i], winners[i]}, In: in.f32, Options: set}); err != nil {
			t.Fatal(err)
		}
		if err := way(MaxPoolGrad, &Call{Out: gradients[i : i+1], In: []storage.Array{dy.f32[0], winners[i]}, Options: set}); err != nil {
			t.Fatal(err)
		}
		if err := way(MaxPoolGrad, &Call{Out: rectified[i : i+1], In: []storage.Array{dy.f32[0], winners[i], values[i]}, Options: set}); err != nil {
			t.Fatal(err)
		}
	}
	if want, got := winners[0].Data.(storage.Host).Bytes(), winners[1].Data.(storage.Host).Bytes(); !slices.Equal(got, want) {
		t.Fatalf("%v %+v: indices\n%v, want\n%v", x, set, got, want)
	}
	about := fmt.Sprintf("%v %+v", x, set)
	compare(t, about+": gradient", wide32(gradients[1]), wide32(gradients[0]), 1e-5)
	compare(t, about+": gradient with relu", wide32(rectified[1]), wide32(rectified[0]), 1e-5)
	for i, want := range storage.Elements[float32](values[0]) {
		if got := storage.Elements[float32](values[1])[i]; got != want && (got == got || want == want) {
			t.Fatalf("%s: value at %d: got %v, want %v", about, i, got, want)
		}
	}
}
