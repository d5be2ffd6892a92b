package tensor_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestConvTransposeShape holds the size of a result to (H − 1)·stride − 2·padding + kernel
// + output padding, for an output padding less than the stride, as in KeyDNN and Keras.
func TestConvTransposeShape(t *testing.T) {
	w := tensor.Zeros(dtype.Float32, 3, 2, 3, 4)
	for _, c := range []struct{ stride, padding, more, h, want [2]int }{
		{[2]int{1, 1}, [2]int{0, 0}, [2]int{0, 0}, [2]int{5, 6}, [2]int{7, 9}},
		{[2]int{2, 2}, [2]int{1, 1}, [2]int{1, 0}, [2]int{5, 6}, [2]int{10, 12}},
		{[2]int{3, 2}, [2]int{0, 1}, [2]int{2, 1}, [2]int{4, 1}, [2]int{14, 3}},
	} {
		o := tensor.ConvTransposeOptions{ConvOptions: tensor.ConvOptions{Stride: [3]int{c.stride[0], c.stride[1]}, Padding: tensor.Pad(c.padding[:]...)}, OutputPadding: [3]int{c.more[0], c.more[1]}}
		y := tensor.ConvTranspose(tensor.Zeros(dtype.Float32, 2, 3, c.h[0], c.h[1]), w, nil, o)
		if want := []int{2, 2, c.want[0], c.want[1]}; !slices.Equal(y.Shape(), want) {
			t.Errorf("%+v: %v, want %v", o, y.Shape(), want)
		}
		for axis := range 2 {
			wrong := o
			wrong.OutputPadding[axis] = c.stride[axis]
			if err := tensor.Try(func() { tensor.ConvTranspose(tensor.Zeros(dtype.Float32, 2, 3, 5, 5), w, nil, wrong) }); !errors.Is(err, tensor.ErrShape) {
				t.Errorf("output padding %v, stride %v: error %v; want one about the shape", wrong.OutputPadding, wrong.Stride, err)
			}
		}
	}
	beyond := tensor.ConvTransposeOptions{OutputPadding: [3]int{0, 0, 1}}
	if err := tensor.Try(func() { tensor.ConvTranspose(tensor.Zeros(dtype.Float32, 2, 3, 5, 5), w, nil, beyond) }); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("output padding of a third axis: error %v", err)
	}
}

// TestNaNIsTheMaximumOfItsWindow on both devices, as in PyTorch.
func TestNaNIsTheMaximumOfItsWindow(t *testing.T) {
	nan := float32(math.NaN())
	host := storage.From([]float32{1, nan, 3, 4, 9, 5, 7, 8, nan, nan, 2, 6}, 1, 1, 12)
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		x, err := host.To(d)
		if err != nil {
			t.Fatal(err)
		}
		values, indices := tensor.FromArray(x).MaxPoolWithIndices(tensor.PoolOptions{Kernel: [3]int{3}})
		v, at := tensor.Values[float32](values), tensor.Values[int32](indices)
		if v[0] == v[0] || v[1] != 9 || v[2] == v[2] || v[3] == v[3] || !slices.Equal(at, []int32{1, 4, 8, 9}) {
			t.Errorf("%v: values %v, indices %v", d, v, at)
		}
	}
}
