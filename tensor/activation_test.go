package tensor_test

import (
	"errors"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestUnknownActivations are errors of every operation that applies one.
func TestUnknownActivations(t *testing.T) {
	ones := func(shape ...int) *tensor.Tensor { return tensor.Ones(dtype.Float32, shape...) }
	for _, act := range []tensor.Activation{-1, 99} {
		for name, f := range map[string]func(){
			"linear": func() { tensor.Linear(ones(1, 4), ones(3, 4).RequireGrad(), nil, act) },
			"conv":   func() { tensor.Conv(ones(1, 1, 4), ones(1, 1, 2), nil, tensor.ConvOptions{Act: act}) },
			"conv transpose": func() {
				tensor.ConvTranspose(ones(1, 1, 4), ones(1, 1, 2), nil, tensor.ConvTransposeOptions{ConvOptions: tensor.ConvOptions{Act: act}})
			},
			"batch norm": func() {
				one := ones(1)
				tensor.BatchNorm(ones(3, 1), one, one, tensor.BatchNormOptions{RunningMean: one.Array, RunningVar: one.Array, Act: act})
			},
		} {
			if err := tensor.Try(f); !errors.Is(err, storage.ErrState) {
				t.Errorf("%s with activation %d: error %v", name, act, err)
			}
		}
	}
}

func TestFromChecksTheNumberOfElements(t *testing.T) {
	if err := tensor.Try(func() { tensor.From([]float32{1, 2}, 3) }); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("error %v", err)
	}
}
