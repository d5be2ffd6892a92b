package tensor_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// TestGradientsOfDropoutHaveTheLayoutOfImages: the result for a Flatten is row-major, but the gradient of channels-last
// images is channels-last, in which the layers before them read it.
func TestGradientsOfDropoutHaveTheLayoutOfImages(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	defer cudatest.Reset()
	a, err := tensor.Ones(dtype.Float32, 2*8*4*4).Array().To(d)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.FromArray(a.With(views.ChannelsLast(2, 8, 4, 4))).RequireGrad()
	x.PreferRowMajor()
	y := x.Dropout(0.5, tensor.Key{Seed: 1, Stream: 2})
	if y.Strides()[3] != 1 {
		t.Errorf("the result has strides %v; want row-major", y.Strides())
	}
	dx := tensor.Gradients(y.Sum())[x]
	if dx.Strides()[1] != 1 {
		t.Errorf("the gradient has strides %v; want channels-last", dx.Strides())
	}
	values, err := storage.Read[float32](y.Array())
	if err != nil {
		t.Fatal(err)
	}
	gradients, err := storage.Read[float32](dx.Array())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if gradients[i] != v {
			t.Fatalf("element %d: gradient %v where the result is %v", i, gradients[i], v)
		}
	}
}
