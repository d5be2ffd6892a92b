package keras

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// sample returns a layer with weights for the samples of a class.
func sample(config map[string]any, weights ...Weight) Layer {
	return Layer{Config: config, Weights: weights}
}

// w returns a weight of that shape, with the elements 1, 2, … in row-major order.
func w(name string, shape ...int) Weight {
	elems := make([]float32, views.Of(shape...).Len())
	for i := range elems {
		elems[i] = float32(i + 1)
	}
	return Weight{Name: name, Array: storage.From(elems, shape...)}
}
