package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestKeyDNNLayersAreHere builds each layer of KeyDNN by both of its names and from
// the settings that KeyDNN's get_config writes, and checks the shapes that it documents.
func TestKeyDNNLayersAreHere(t *testing.T) {
	features, images, any := []int{2, 6}, []int{2, 3, 5, 7}, []int{2, 4}
	for _, c := range []struct {
		names    []string
		settings string
		in, out  []int
		weights  map[string][]int
	}{
		{[]string{"Dense"}, `{"out_features": 4}`, features, []int{2, 4}, map[string][]int{"weight": {4, 6}, "bias": {4}}},
		{[]string{"Linear"}, `{"in_features": 6, "out_features": 4, "bias": true}`, features, []int{2, 4}, map[string][]int{"weight": {4, 6}, "bias": {4}}},
		{
			[]string{"Conv2d", "Conv2D"}, `{"in_channels": 3, "out_channels": 4, "kernel_size": [3, 2], "stride": [2, 1], "padding": 1, "bias": true, "dtype": "float32", "initializer": "kaiming"}`,
			images, []int{2, 4, 3, 8}, map[string][]int{"weight": {4, 3, 3, 2}, "bias": {4}},
		},
		{ // H_out = (5−1)·2 − 2·1 + 3 + 1, W_out = (7−1)·1 − 2·1 + 2
			[]string{"Conv2dTranspose", "Conv2DTranspose"}, `{"in_channels": 3, "out_channels": 4, "kernel_size": [3, 2], "stride": [2, 1], "padding": 1, "output_padding": [1, 0], "bias": true}`,
			images, []int{2, 4, 10, 6}, map[string][]int{"weight": {3, 4, 3, 2}, "bias": {4}},
		},
		{[]string{"BatchNorm1d", "BatchNorm1D"}, `{"num_features": 6, "eps": 1e-5, "momentum": 0.1, "affine": true}`, features, features, map[string][]int{"gamma": {6}, "beta": {6}}},
		{[]string{"BatchNorm2d", "BatchNorm2D"}, `{"num_features": 3, "affine": false}`, images, images, map[string][]int{}},
		{[]string{"LayerNorm"}, `{"normalized_shape": [5, 7], "eps": 1e-5}`, images, images, map[string][]int{"gamma": {5, 7}, "beta": {5, 7}}},
		{[]string{"Dropout"}, `{"p": 0.5}`, any, any, nil},
		{[]string{"MaxPool2d", "MaxPool2D"}, `{"kernel_size": 3, "stride": 2, "padding": 1}`, images, []int{2, 3, 3, 4}, nil},
		{[]string{"MaxPool2d"}, `{"kernel_size": 2}`, images, []int{2, 3, 2, 3}, nil},
		{[]string{"AvgPool2d", "AvgPool2D"}, `{"kernel_size": [3, 2], "stride": [2, 1], "padding": 1}`, images, []int{2, 3, 3, 8}, nil},
		{[]string{"GlobalAvgPool2d", "GlobalAvgPool2D"}, `{"ignored": 1}`, images, []int{2, 3, 1, 1}, nil},
		{[]string{"Flatten"}, `{}`, images, []int{2, 105}, nil},
		{[]string{"ReLU"}, `{}`, any, any, nil},
		{[]string{"LeakyReLU"}, `{}`, any, any, nil},
		{[]string{"Sigmoid"}, `{}`, any, any, nil},
		{[]string{"Tanh"}, `{}`, any, any, nil},
		{[]string{"Softmax"}, `{"axis": -1}`, any, any, nil},
	} {
		for _, name := range c.names {
			m := fromJSON(t, fmt.Sprintf(`{%q: %s}`, name, c.settings))
			var out []int
			if err := tensor.Try(func() { out = m.Forward(tensor.FromArray(filled(1, c.in...))).Shape() }); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !slices.Equal(out, c.out) {
				t.Errorf("%s: output %v, want %v", name, out, c.out)
			}
			got := map[string][]int{}
			for param, p := range nn.Parameters(m) {
				got[param] = p.Shape()
			}
			if c.weights != nil && fmt.Sprint(got) != fmt.Sprint(c.weights) {
				t.Errorf("%s: parameters %v, want %v", name, got, c.weights)
			}
		}
	}
	// Padding counts in means: a corner of a 3×3 mean has 4 ones and 5 zeros.
	mean := fromJSON(t, `{"AvgPool2d": {"kernel_size": 3, "stride": 3, "padding": 1}}`).Forward(tensor.FromArray(filled(1, 1, 1, 4, 4)))
	if got := tensor.Values[float32](mean)[0]; got != float32(4)/9 {
		t.Errorf("mean %v at a corner, want 4/9", got)
	}
}
