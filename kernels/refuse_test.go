package kernels

import (
	"errors"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestProductsAndImagesRefuseWhatDoesNotFit gives kernels operands that do not
// belong together; each must say so, and of which kind the mistake is.
func TestProductsAndImagesRefuseWhatDoesNotFit(t *testing.T) {
	f := func(shape ...int) storage.Array { return dense(views.Of(shape...)) }
	double := func(shape ...int) storage.Array {
		return storage.From(make([]float64, views.Of(shape...).Len()), shape...)
	}
	arrays := func(a ...storage.Array) []storage.Array { return a }
	index := storage.From(make([]uint8, 8), 1, 2, 2, 2)
	short := f(4, 4)
	short.Shape = []int{5, 4}
	for _, c := range []struct {
		about   string
		k       *Kernel
		out, in []storage.Array
		options any
		kind    error
	}{
		{"inner sizes differ", MatMul, arrays(f(2, 4)), arrays(f(2, 3), f(4, 4)), nil, views.ErrShape},
		{"output is turned", MatMul, arrays(f(4, 2)), arrays(f(2, 3), f(3, 4)), nil, views.ErrShape},
		{"vectors", MatMul, arrays(f(1)), arrays(f(3), f(3)), nil, views.ErrShape},
		{"leading axes", MatMul, arrays(f(3, 2, 2)), arrays(f(3, 2, 2), f(2, 2, 2)), nil, views.ErrShape},
		{"leading axes of the output", MatMul, arrays(f(4, 2, 2)), arrays(f(3, 2, 2), f(1, 2, 2)), nil, views.ErrShape},
		{"types differ", MatMul, arrays(f(2, 2)), arrays(f(2, 2), double(2, 2)), nil, dtype.ErrType},
		{"integers", MatMul, arrays(storage.From(make([]int64, 4), 2, 2)), arrays(storage.From(make([]int64, 4), 2, 2), storage.From(make([]int64, 4), 2, 2)), nil, dtype.ErrType},
		{"beyond the storage", MatMul, arrays(f(5, 4)), arrays(short, f(4, 4)), nil, views.ErrShape},
		{"one input", MatMul, arrays(f(2, 2)), arrays(f(2, 2)), nil, views.ErrShape},
		{"output repeats", MatMul, arrays(f(1).With(repeated.of(2, 2))), arrays(f(2, 2), f(2, 2)), nil, views.ErrShape},
		{"settings", MatMul, arrays(f(2, 2)), arrays(f(2, 2), f(2, 2)), 3, storage.ErrState},
		{"weights turned", Linear, arrays(f(2, 4)), arrays(f(2, 3), f(3, 4)), nil, views.ErrShape},
		{"bias", Linear, arrays(f(2, 4)), arrays(f(2, 3), f(4, 3), f(3)), nil, views.ErrShape},
		{"activation", Linear, arrays(f(2, 4)), arrays(f(2, 3), f(4, 3)), LinearOptions{Act: 9}, nil},
		{"channels", Conv2d, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 4, 3, 3)), nil, views.ErrShape},
		{"rank", Conv2d, arrays(f(1, 2, 2, 2)), arrays(f(3, 4, 4), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"window too large", Conv2d, arrays(f(1, 2, 1, 1)), arrays(f(1, 3, 2, 2), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"output size", Conv2d, arrays(f(1, 2, 3, 3)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"stride", Conv2d, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), Conv2dOptions{Stride: [2]int{-1, 1}}, views.ErrShape},
		{"padding", Conv2d, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), Conv2dOptions{Padding: [2]int{-1, 0}}, views.ErrShape},
		{"monstrous padding", Conv2d, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), Conv2dOptions{Padding: [2]int{math.MaxInt, 0}}, views.ErrShape},
		{"bias", Conv2d, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3), f(3)), nil, views.ErrShape},
		{"gradient", Conv2dGradX, arrays(f(1, 3, 4, 4)), arrays(f(1, 2, 3, 3), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"bias gradient", Conv2dGradW, arrays(f(2, 3, 3, 3), f(3)), arrays(f(1, 3, 4, 4), f(1, 2, 2, 2)), nil, views.ErrShape},
		{"no kernel", MaxPool2d, arrays(f(1, 2, 2, 2)), arrays(f(1, 2, 4, 4)), nil, views.ErrShape},
		{"padding", MaxPool2d, arrays(f(1, 2, 4, 4)), arrays(f(1, 2, 4, 4)), Pool2dOptions{Kernel: [2]int{2, 2}, Padding: [2]int{2, 2}}, views.ErrShape},
		{"index type", MaxPool2d, arrays(f(1, 2, 2, 2), f(1, 2, 2, 2)), arrays(f(1, 2, 4, 4)), Pool2dOptions{Kernel: [2]int{2, 2}}, dtype.ErrType},
		{"index too small", MaxPool2d, arrays(f(1, 2, 2, 2), index), arrays(f(1, 2, 40, 40)), Pool2dOptions{Kernel: [2]int{20, 20}}, dtype.ErrType},
		{"relu elsewhere", MaxPool2dGrad, arrays(f(1, 2, 4, 4)), arrays(f(1, 2, 2, 2), index, f(1, 2, 2, 2).With(turned.of(1, 2, 2, 2))), Pool2dOptions{Kernel: [2]int{2, 2}}, views.ErrShape},
		{"padding only", AvgPool2d, arrays(f(1, 2, 1, 1)), arrays(f(1, 2, 0, 1)), Pool2dOptions{Kernel: [2]int{2, 2}, Padding: [2]int{1, 1}}, views.ErrShape},
		{"no channels", BatchNorm, arrays(f(3), f(3), f(3)), arrays(f(3), f(3), f(3)), nil, views.ErrShape},
		{"channels", BatchNorm, arrays(f(3, 2), f(2), f(2)), arrays(f(3, 2), f(3), f(2)), nil, views.ErrShape},
		{"outputs", BatchNorm, arrays(f(3, 2), f(2), f(2), f(2)), arrays(f(3, 2), f(2), f(2)), nil, views.ErrShape},
		{"gradient", BatchNormGrad, arrays(f(3, 2), f(2), f(2)), arrays(f(3, 2), f(2), f(2, 2), f(2), f(2)), nil, views.ErrShape},
	} {
		for way, run := range map[string]func(*Call) error{"plain": c.k.Reference, "fast": func(call *Call) error { return CPU.Run(c.k, call) }} {
			err := run(&Call{Out: c.out, In: c.in, Options: c.options})
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("%s, %s, %s: got %v, want a %v", c.k.Name, c.about, way, err, c.kind)
			}
		}
	}
}
