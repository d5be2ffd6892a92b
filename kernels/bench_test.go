package kernels

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

func benchmark(b *testing.B, k *Kernel, c *Call, bytes int) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(bytes))
	for b.Loop() {
		if err := CPU.Run(k, c); err != nil {
			b.Fatal(err)
		}
	}
}

// ramp returns an array that no kernel finds special.
func ramp(shape ...int) storage.Array {
	a := filled(0, shape...)
	for i, x := range storage.Elements[float32](a) {
		storage.Elements[float32](a)[i] = x + float32(i%61)/8 - 3.5
	}
	return a
}

func filled(x float32, shape ...int) storage.Array {
	n := 1
	for _, size := range shape {
		n *= size
	}
	elems := make([]float32, n)
	for i := range elems {
		elems[i] = x
	}
	return storage.From(elems, shape...)
}

// BenchmarkElementwise has the bars' shape: (4096, 1024).
func BenchmarkElementwise(b *testing.B) {
	for _, k := range []*Kernel{Add, Exp, ReLU, Tanh, Sigmoid, Log, Sqrt, Maximum} {
		x, y, z := ramp(4096, 1024), ramp(4096, 1024), ramp(4096, 1024)
		in := []storage.Array{x, y}
		if k.Name != "add" && k.Name != "maximum" {
			in = in[:1]
		}
		b.Run(k.Name, func(b *testing.B) {
			benchmark(b, k, &Call{Out: []storage.Array{z}, In: in}, 4*z.Len()*(1+len(in)))
		})
	}
}

// BenchmarkGrain shows where the pool begins to pay.
func BenchmarkGrain(b *testing.B) {
	for _, k := range []*Kernel{Add, Exp} {
		for n := 4; n <= 1<<17; n *= 2 {
			x, y, z := ramp(n), ramp(n), ramp(n)
			in := []storage.Array{x, y}
			if k == Exp {
				in = in[:1]
			}
			for threads := 1; threads <= 2; threads++ {
				b.Run(fmt.Sprintf("%s/%d/threads=%d", k.Name, n, threads), func(b *testing.B) {
					defer native.SetThreads(native.Threads())
					native.SetThreads(threads)
					benchmark(b, k, &Call{Out: []storage.Array{z}, In: in}, 0)
				})
			}
		}
	}
}

// BenchmarkCopy has transposes, whose bound is the speed of memory: that of the first line.
func BenchmarkCopy(b *testing.B) {
	x, y := ramp(4096, 4096), ramp(4096, 4096)
	images, back := ramp(64, 64, 32, 32), ramp(64, 32, 32, 64)
	for _, test := range []struct {
		name string
		y, x storage.Array
	}{
		{"rows", y, x},
		{"transpose", y, x.With(ok(x.Transpose()))},
		{"nchw to nhwc", back, images.With(ok(images.Transpose(0, 2, 3, 1)))},
		{"nhwc to nchw", images, back.With(ok(back.Transpose(0, 3, 1, 2)))},
	} {
		b.Run(test.name, func(b *testing.B) {
			benchmark(b, Copy, &Call{Out: []storage.Array{test.y}, In: []storage.Array{test.x}}, 8*test.y.Len())
		})
	}
}

// ok returns v where err was ruled out.
func ok[T any](v T, err error) T {
	must(err)
	return v
}

// BenchmarkLines has the bar's shape for softmax, and its relatives.
func BenchmarkLines(b *testing.B) {
	x, y, z := ramp(4096, 1024), ramp(4096, 1024), ramp(4096, 1024)
	for _, k := range []*Kernel{Softmax, LogSoftmax, SoftmaxGrad, LogSoftmaxGrad} {
		in := []storage.Array{x, y}
		if k == Softmax || k == LogSoftmax {
			in = in[:1]
		}
		b.Run(k.Name, func(b *testing.B) {
			benchmark(b, k, &Call{Out: []storage.Array{z}, In: in, Options: SoftmaxOptions{1}}, 4*z.Len()*(1+len(in)))
		})
	}
}

// BenchmarkReduce reduces rows, columns and all of (4096, 1024), and the channels of images.
func BenchmarkReduce(b *testing.B) {
	x, images := ramp(4096, 1024), ramp(64, 32, 28, 28)
	for _, k := range []*Kernel{Sum, Max} {
		for _, test := range []struct {
			name string
			x, y storage.Array
		}{
			{"rows", x, ramp(4096, 1)},
			{"columns", x, ramp(1, 1024)},
			{"all", x, ramp(1, 1)},
			{"channels", images, ramp(1, 32, 1, 1)},
			{"small", ramp(64, 10), ramp(1, 10)},
		} {
			b.Run(k.Name+"/"+test.name, func(b *testing.B) {
				benchmark(b, k, &Call{Out: []storage.Array{test.y}, In: []storage.Array{test.x}}, 4*test.x.Len())
			})
		}
	}
}

// BenchmarkSmall has the small kernels of a training step.
func BenchmarkSmall(b *testing.B) {
	logits, gradient, labels := ramp(64, 10), ramp(64, 10), storage.From(make([]int64, 64), 64)
	loss, count := ramp(1), storage.From(make([]int64, 1), 1)
	b.Run("cross entropy", func(b *testing.B) {
		benchmark(b, CrossEntropy, &Call{Out: []storage.Array{loss, gradient}, In: []storage.Array{logits, labels}}, 0)
	})
	b.Run("correct", func(b *testing.B) {
		benchmark(b, Correct, &Call{Out: []storage.Array{count}, In: []storage.Array{logits, labels}}, 0)
	})
	y, dy, dz, db := ramp(64, 128), ramp(64, 128), ramp(64, 128), ramp(128)
	b.Run("act grad bias", func(b *testing.B) {
		benchmark(b, ActGradBias, &Call{Out: []storage.Array{dz, db}, In: []storage.Array{y, dy}, Options: ActOptions{Act: ReLUActivation}}, 0)
	})
	p, g, m, v := filled(1, 128, 784), filled(1, 128, 784), filled(1, 128, 784), filled(1, 128, 784)
	b.Run("sgd", func(b *testing.B) {
		benchmark(b, SGD, &Call{Out: []storage.Array{p}, In: []storage.Array{g}, Options: SGDOptions{Rate: 1e-9}}, 12*p.Len())
	})
	b.Run("adam", func(b *testing.B) {
		benchmark(b, Adam, &Call{Out: []storage.Array{p, m, v}, In: []storage.Array{g}, Options: AdamOptions{Rate: 1e-9, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 1}}, 28*p.Len())
	})
	b.Run("bias act", func(b *testing.B) {
		benchmark(b, BiasAct, &Call{Out: []storage.Array{dz}, In: []storage.Array{y, db}, Options: ActOptions{Act: ReLUActivation}}, 0)
	})
	x := ramp(1024, 1024)
	b.Run("dropout", func(b *testing.B) {
		benchmark(b, Dropout, &Call{Out: []storage.Array{x}, In: []storage.Array{x}, Options: DropoutOptions{P: 0.5}}, 8*x.Len())
	})
	b.Run("normal", func(b *testing.B) {
		benchmark(b, Normal, &Call{Out: []storage.Array{x}, Options: RandomOptions{B: 1}}, 4*x.Len())
	})
	bytes := storage.From(make([]uint8, 64*784), 64, 784)
	b.Run("cast", func(b *testing.B) {
		benchmark(b, Cast, &Call{Out: []storage.Array{ramp(64, 784)}, In: []storage.Array{bytes}, Options: CastOptions{Scale: 1. / 255}}, 5*bytes.Len())
	})
}

// BenchmarkLayerNorm has the bar's shape, and the gradients of x, gamma and beta.
func BenchmarkLayerNorm(b *testing.B) {
	x, y, rows, columns := ramp(4096, 768), ramp(4096, 768), filled(1, 4096), filled(1, 768)
	b.Run("forward", func(b *testing.B) {
		benchmark(b, LayerNorm, &Call{Out: []storage.Array{y, rows, filled(1, 4096)}, In: []storage.Array{x, columns, columns}, Options: LayerNormOptions{1e-5}}, 8*x.Len())
	})
	b.Run("grad", func(b *testing.B) {
		out := []storage.Array{ramp(4096, 768), ramp(768), ramp(768)}
		benchmark(b, LayerNormGrad, &Call{Out: out, In: []storage.Array{x, y, rows, rows, columns}}, 12*x.Len())
	})
}
