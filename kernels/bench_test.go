package kernels

import (
	"fmt"
	"testing"

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
	for _, k := range []*Kernel{Add, Exp, Relu, Tanh, Sigmoid, Log, Sqrt, Maximum} {
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
					defer SetThreads(Threads())
					SetThreads(threads)
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
