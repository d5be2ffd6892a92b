package kernels

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// dense returns a float32 array of small numbers in the layout v, which is dense.
func dense(v views.View) storage.Array {
	elems := make([]float32, v.Len())
	for i := range elems {
		elems[i] = float32(i%7)*0.1 - 0.3
	}
	return storage.From(elems, len(elems)).With(v)
}

func bench(b *testing.B, k *Kernel, out, in []storage.Array, options any) {
	b.Helper()
	b.ReportAllocs()
	runtime.LockOSThread() // OpenMP keeps its team for a thread
	defer runtime.UnlockOSThread()
	c := &Call{Out: out, In: in, Options: options}
	for b.Loop() {
		if err := CPU.Run(k, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	for _, s := range [][3]int{{64, 64, 64}, {512, 512, 512}, {2048, 2048, 2048}} {
		b.Run(fmt.Sprint(s[0]), func(b *testing.B) {
			bench(b, MatMul, []storage.Array{dense(views.Of(s[0], s[1]))}, []storage.Array{dense(views.Of(s[0], s[2])), dense(views.Of(s[2], s[1]))}, nil)
		})
	}
}

func BenchmarkLinear(b *testing.B) {
	for _, s := range [][3]int{{64, 128, 784}, {64, 10, 128}, {256, 1024, 1024}, {256, 1024, 784}, {128, 120, 400}, {1, 128, 3136}, {32, 128, 3136}, {64, 128, 3136}, {1, 10, 128}} {
		x, w, bias, y := views.Of(s[0], s[2]), views.Of(s[1], s[2]), views.Of(s[1]), views.Of(s[0], s[1])
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], s[2], s[1]), func(b *testing.B) {
			bench(b, Linear, []storage.Array{dense(y)}, []storage.Array{dense(x), dense(w), dense(bias)}, LinearOptions{Act: ReLUActivation})
		})
		b.Run(fmt.Sprintf("grad x %dx%dx%d", s[0], s[2], s[1]), func(b *testing.B) {
			bench(b, MatMul, []storage.Array{dense(x)}, []storage.Array{dense(y), dense(w)}, nil)
		})
		b.Run(fmt.Sprintf("grad w %dx%dx%d", s[0], s[2], s[1]), func(b *testing.B) {
			yT := views.View{Shape: []int{s[1], s[0]}, Stride: []int{1, s[1]}}
			bench(b, MatMul, []storage.Array{dense(w)}, []storage.Array{dense(y).With(yT), dense(x)}, nil)
		})
	}
}

// The convolutions of the networks that bench/ measures: n, channels, size, channels, kernel, padding.
var convolutions = [][6]int{
	{64, 1, 28, 32, 3, 1}, {64, 32, 14, 64, 3, 1}, {1, 1, 28, 32, 3, 1}, {1, 32, 14, 64, 3, 1}, {16, 1, 28, 32, 3, 1}, {16, 32, 14, 64, 3, 1},
	{128, 1, 28, 6, 5, 2}, {128, 6, 14, 16, 5, 0}, {32, 64, 32, 64, 3, 1}, {32, 128, 16, 128, 3, 1}, {32, 512, 4, 512, 3, 1},
	{8, 1, 64, 32, 3, 1}, {8, 32, 64, 32, 3, 1}, {8, 64, 64, 32, 3, 1}, {8, 32, 32, 64, 3, 1}, {8, 64, 32, 64, 3, 1}, {8, 128, 32, 64, 3, 1}, {8, 128, 16, 128, 3, 1}, {8, 256, 16, 128, 3, 1}, {8, 128, 8, 256, 3, 1}, {8, 256, 8, 256, 3, 1},
}

func BenchmarkConv1d(b *testing.B) {
	for _, s := range [][5]int{{64, 6, 1000, 32, 7}, {64, 32, 500, 64, 5}, {64, 64, 250, 128, 5}, {64, 128, 125, 128, 5}, {64, 64, 250, 64, 3}, {64, 64, 250, 64, 7}, {64, 16, 250, 16, 3}} {
		n, ci, l, co, k := s[0], s[1], s[2], s[3], s[4]
		x, w, bias, y := dense(views.ChannelsLast(n, ci, l)), dense(views.Of(co, ci, k)), dense(views.Of(co)), dense(views.ChannelsLast(n, co, l))
		o := ConvOptions{Padding: Pad(k / 2)}
		name := fmt.Sprintf("n%d_%dx%d_to_%d_k%d", n, ci, l, co, k)
		b.Run("forward/"+name, func(b *testing.B) { bench(b, Conv, []storage.Array{y}, []storage.Array{x, w, bias}, o) })
		b.Run("gradx/"+name, func(b *testing.B) { bench(b, ConvGradX, []storage.Array{x}, []storage.Array{y, w}, o) })
		b.Run("gradw/"+name, func(b *testing.B) { bench(b, ConvGradW, []storage.Array{w, bias}, []storage.Array{x, y}, o) })
	}
}

func BenchmarkConv2d(b *testing.B) {
	for _, s := range convolutions {
		n, ci, h, co, k, pad := s[0], s[1], s[2], s[3], s[4], s[5]
		o := h + 2*pad - k + 1
		x, w, bias, y := dense(views.ChannelsLast(n, ci, h, h)), dense(views.Of(co, ci, k, k)), dense(views.Of(co)), dense(views.ChannelsLast(n, co, o, o))
		set := ConvOptions{Padding: Pad(pad, pad)}
		name := fmt.Sprintf("n%d_%dx%dx%d_to_%d_k%d", n, ci, h, h, co, k)
		b.Run("forward/"+name, func(b *testing.B) {
			bench(b, Conv, []storage.Array{y}, []storage.Array{x, w, bias}, ConvOptions{Padding: set.Padding, Act: ReLUActivation})
		})
		b.Run("gradx/"+name, func(b *testing.B) {
			bench(b, ConvGradX, []storage.Array{x}, []storage.Array{y, w}, set)
		})
		b.Run("gradw/"+name, func(b *testing.B) {
			bench(b, ConvGradW, []storage.Array{w, bias}, []storage.Array{x, y}, set)
		})
	}
}

func BenchmarkPool(b *testing.B) {
	for _, s := range [][3]int{{64, 32, 28}, {64, 64, 14}, {128, 6, 28}, {128, 16, 10}} {
		n, c, h := s[0], s[1], s[2]
		x, y := dense(views.ChannelsLast(n, c, h, h)), dense(views.ChannelsLast(n, c, h/2, h/2))
		index, err := storage.Make(storage.CPU, dtype.Int32, n, h/2, h/2, c)
		if err != nil {
			b.Fatal(err)
		}
		index = index.With(y.View)
		set := PoolOptions{Kernel: [3]int{2, 2}}
		name := fmt.Sprintf("n%d_%dx%dx%d", n, c, h, h)
		b.Run("max/"+name, func(b *testing.B) { bench(b, MaxPool, []storage.Array{y, index}, []storage.Array{x}, set) })
		b.Run("maxgrad/"+name, func(b *testing.B) {
			bench(b, MaxPoolGrad, []storage.Array{x}, []storage.Array{y, index}, set)
		})
		b.Run("avg/"+name, func(b *testing.B) { bench(b, AvgPool, []storage.Array{y}, []storage.Array{x}, set) })
		b.Run("avggrad/"+name, func(b *testing.B) { bench(b, AvgPoolGrad, []storage.Array{x}, []storage.Array{y}, set) })
	}
}

func BenchmarkBatchNorm(b *testing.B) {
	options := BatchNormOptions{Epsilon: 1e-5, Momentum: 0.1}
	for _, s := range [][3]int{{32, 64, 32}, {32, 512, 4}} {
		for _, l := range []layout{channelsLastLayout, rowMajorLayout} {
			x, y := dense(l.of(s[0], s[1], s[2], s[2])), dense(l.of(s[0], s[1], s[2], s[2]))
			c := dense(views.Of(s[1]))
			name := fmt.Sprintf("%v/%s", s, l.name)
			b.Run("train/"+name, func(b *testing.B) {
				bench(b, BatchNorm, []storage.Array{y, c, c, c, c}, []storage.Array{x, c, c}, options)
			})
			b.Run("eval/"+name, func(b *testing.B) {
				bench(b, BatchNormEval, []storage.Array{y}, []storage.Array{x, c, c, c, c}, options)
			})
			b.Run("grad/"+name, func(b *testing.B) {
				bench(b, BatchNormGrad, []storage.Array{x, c, c}, []storage.Array{x, c, y, c, c}, options)
			})
		}
	}
}
