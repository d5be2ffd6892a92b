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
// belong together; each must say so, and name the kind of mistake.
func TestProductsAndImagesRefuseWhatDoesNotFit(t *testing.T) {
	f := func(shape ...int) storage.Array { return dense(views.Of(shape...)) }
	double := func(shape ...int) storage.Array {
		return storage.From(make([]float64, views.Of(shape...).Len()), shape...)
	}
	arrays := func(a ...storage.Array) []storage.Array { return a }
	index := storage.From(make([]int32, 8), 1, 2, 2, 2)
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
		{"output is transposedLayout", MatMul, arrays(f(4, 2)), arrays(f(2, 3), f(3, 4)), nil, views.ErrShape},
		{"vectors", MatMul, arrays(f(1)), arrays(f(3), f(3)), nil, views.ErrShape},
		{"leading axes", MatMul, arrays(f(3, 2, 2)), arrays(f(3, 2, 2), f(2, 2, 2)), nil, views.ErrShape},
		{"leading axes of the output", MatMul, arrays(f(4, 2, 2)), arrays(f(3, 2, 2), f(1, 2, 2)), nil, views.ErrShape},
		{"types differ", MatMul, arrays(f(2, 2)), arrays(f(2, 2), double(2, 2)), nil, dtype.ErrType},
		{"integers", MatMul, arrays(storage.From(make([]int64, 4), 2, 2)), arrays(storage.From(make([]int64, 4), 2, 2), storage.From(make([]int64, 4), 2, 2)), nil, dtype.ErrType},
		{"beyond the storage", MatMul, arrays(f(5, 4)), arrays(short, f(4, 4)), nil, views.ErrShape},
		{"one input", MatMul, arrays(f(2, 2)), arrays(f(2, 2)), nil, views.ErrShape},
		{"output repeats", MatMul, arrays(f(1).With(repeated.of(2, 2))), arrays(f(2, 2), f(2, 2)), nil, views.ErrShape},
		{"settings", MatMul, arrays(f(2, 2)), arrays(f(2, 2), f(2, 2)), 3, storage.ErrState},
		{"weights transposedLayout", Linear, arrays(f(2, 4)), arrays(f(2, 3), f(3, 4)), nil, views.ErrShape},
		{"bias", Linear, arrays(f(2, 4)), arrays(f(2, 3), f(4, 3), f(3)), nil, views.ErrShape},
		{"activation", Linear, arrays(f(2, 4)), arrays(f(2, 3), f(4, 3)), LinearOptions{Act: 9}, nil},
		{"channels", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 4, 3, 3)), nil, views.ErrShape},
		{"rank", Conv, arrays(f(1, 2, 2, 2)), arrays(f(3, 4, 4), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"window too large", Conv, arrays(f(1, 2, 1, 1)), arrays(f(1, 3, 2, 2), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"output size", Conv, arrays(f(1, 2, 3, 3)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"stride", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), ConvOptions{Stride: [3]int{-1, 1}}, views.ErrShape},
		{"padding", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), ConvOptions{Padding: Pad(-1, 0)}, views.ErrShape},
		{"monstrous padding", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), ConvOptions{Padding: Pad(math.MaxInt, 0)}, views.ErrShape},
		{"bias", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3), f(3)), nil, views.ErrShape},
		{"gradient of x", ConvGradX, arrays(f(1, 3, 4, 4)), arrays(f(1, 2, 3, 3), f(2, 3, 3, 3)), nil, views.ErrShape},
		{"gradient of bias", ConvGradW, arrays(f(2, 3, 3, 3), f(3)), arrays(f(1, 3, 4, 4), f(1, 2, 2, 2)), nil, views.ErrShape},
		{"no kernel", MaxPool, arrays(f(1, 2, 2, 2)), arrays(f(1, 2, 4, 4)), nil, views.ErrShape},
		{"padding", MaxPool, arrays(f(1, 2, 4, 4)), arrays(f(1, 2, 4, 4)), PoolOptions{Kernel: [3]int{2, 2}, Padding: Pad(2, 2)}, views.ErrShape},
		{"index type", MaxPool, arrays(f(1, 2, 2, 2), f(1, 2, 2, 2)), arrays(f(1, 2, 4, 4)), PoolOptions{Kernel: [3]int{2, 2}}, dtype.ErrType},
		{"index shape", MaxPool, arrays(f(1, 2, 2, 2), storage.From(make([]int32, 4), 1, 2, 2, 1)), arrays(f(1, 2, 4, 4)), PoolOptions{Kernel: [3]int{2, 2}}, views.ErrShape},
		{"dilated mean", AvgPool, arrays(f(1, 2, 2, 2)), arrays(f(1, 2, 4, 4)), PoolOptions{Kernel: [3]int{2, 2}, Dilation: [3]int{2, 1}}, views.ErrShape},
		{"entries beyond the axes", MaxPool, arrays(f(1, 2, 2, 2)), arrays(f(1, 2, 4, 4)), PoolOptions{Kernel: [3]int{2, 2}, Stride: [3]int{2, 2, 2}}, views.ErrShape},
		{"groups", Conv, arrays(f(1, 3, 2, 2)), arrays(f(1, 4, 4, 4), f(3, 2, 3, 3)), ConvOptions{Groups: 2}, views.ErrShape},
		{"negative groups", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), ConvOptions{Groups: -1}, views.ErrShape},
		{"dilation", Conv, arrays(f(1, 2, 2, 2)), arrays(f(1, 3, 4, 4), f(2, 3, 3, 3)), ConvOptions{Dilation: [3]int{2}}, views.ErrShape},
		{"relu elsewhere", MaxPoolGrad, arrays(f(1, 2, 4, 4)), arrays(f(1, 2, 2, 2), index, f(1, 2, 2, 2).With(transposedLayout.of(1, 2, 2, 2))), PoolOptions{Kernel: [3]int{2, 2}}, views.ErrShape},
		{"padding only", AvgPool, arrays(f(1, 2, 1, 1)), arrays(f(1, 2, 0, 1)), PoolOptions{Kernel: [3]int{2, 2}, Padding: Pad(1, 1)}, views.ErrShape},
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
