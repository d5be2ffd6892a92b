package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestChainsAreTheirParts compares the bits of three convolutions in one with the bits of the three in turn, on several numbers of threads.
func TestChainsAreTheirParts(t *testing.T) {
	defer native.SetThreads(native.Threads())
	random := rand.New(rand.NewPCG(3, 4))
	numbers := func(n int) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(random.NormFloat64())
		}
		return list
	}
	image := func(n, c, h, w int) views.View {
		return views.View{Shape: []int{n, c, h, w}, Stride: []int{c * h * w, 1, c * w, c}}
	}
	for _, c := range []struct {
		n, in, between, out, h, w, window, stride, dilation int
		sum                                                 bool
	}{
		{1, 16, 96, 24, 30, 28, 3, 2, 1, false}, {3, 24, 40, 24, 15, 29, 3, 1, 1, true}, {2, 20, 33, 17, 16, 9, 5, 1, 1, false},
		{1, 24, 64, 24, 28, 14, 3, 1, 2, true}, {1, 0, 32, 16, 40, 17, 3, 1, 1, false}, {4, 40, 50, 40, 7, 7, 5, 1, 1, true},
	} {
		native.SetThreads(1)
		limits := PackOptions{High: 6}
		pack := func(o PackOptions, y, x views.View, groups int) *PackedConv {
			o.Groups = groups
			shape := []int{y.Shape[1], x.Shape[1] / groups, 1, 1}
			if groups > 1 {
				pad := c.dilation * (c.window - 1) / 2
				o.Stride, o.Dilation, o.Padding = [3]int{c.stride, c.stride}, [3]int{c.dilation, c.dilation}, [3][2]int{{pad, pad}, {pad, pad}}
				shape = []int{y.Shape[1], 1, c.window, c.window}
			}
			p, err := PackConv(o, y, x, storage.From(numbers(views.Of(shape...).Len()), shape...), storage.From(numbers(shape[0]), shape[0]))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		h, w := (c.h-1)/c.stride+1, (c.w-1)/c.stride+1
		middle, filtered, result := image(c.n, c.between, c.h, c.w), image(c.n, c.between, h, w), image(c.n, c.out, h, w)
		var expand *PackedConv
		from := middle
		if c.in > 0 {
			from = image(c.n, c.in, c.h, c.w)
			expand = pack(limits, middle, from, 1)
		}
		depthwise, project := pack(limits, filtered, middle, c.between), pack(PackOptions{Sum: c.sum}, result, filtered, 1)
		chain := ChainPacked(expand, depthwise, project)
		if chain == nil {
			t.Errorf("%+v: not joined", c)
			continue
		}
		run := func(p interface {
			Run(out, in []storage.Array) error
		}, y, x storage.Array) {
			if err := p.Run([]storage.Array{y}, []storage.Array{x}); err != nil {
				t.Fatal(err)
			}
		}
		made := func(v views.View, list []float32) storage.Array {
			a := storage.From(list, len(list))
			a.View = v
			return a
		}
		xs := numbers(from.Len())
		x, between, windows, y := made(from, xs), made(middle, numbers(middle.Len())), made(filtered, numbers(filtered.Len())), made(result, numbers(result.Len()))
		if c.sum {
			y = made(result, slices.Clone(xs))
		}
		if expand == nil {
			between = x
		} else {
			run(expand, between, x)
		}
		run(depthwise, windows, between)
		run(project, y, windows)
		want, err := storage.Read[float32](y)
		if err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 2, 4} {
			native.SetThreads(threads)
			x, y := made(from, slices.Clone(xs)), made(result, numbers(result.Len()))
			if c.sum { // to x itself
				y = x
			}
			run(chain, y, x)
			got, err := storage.Read[float32](y)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v, %d threads: not the bits of its parts", c, threads)
			}
		}
	}
}
