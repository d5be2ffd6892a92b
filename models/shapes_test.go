package models

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestWeightsOfOtherShapesAreRefused: a file of Keras whose weights do not fit its layers cannot be
// loaded by Keras.
func TestWeightsOfOtherShapesAreRefused(t *testing.T) {
	const model = fixtures + "keras3_cnn.keras"
	a, err := ReadArchitecture(model)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(a.Text), 0o666); err != nil {
		t.Fatal(err)
	}
	source, err := Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := New(source, "torch", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []string{"", "conv2d.weight", "conv2d.bias"} {
		var list []weights.Tensor
		for _, tensor := range plan.Tensors {
			if tensor.Name == changed { // one more output
				shape := slices.Clone(tensor.Array.Shape)
				shape[0]++
				tensor.Array, err = storage.Make(storage.CPU, tensor.Array.Type, shape...)
				if err != nil {
					t.Fatal(err)
				}
			}
			list = append(list, tensor)
		}
		name := filepath.Join(t.TempDir(), "model.pt")
		err := serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
			for _, tensor := range list {
				if !yield(serialize.Entry{Name: tensor.Name, Array: tensor.Array}, nil) {
					return
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, architecture := range []string{model, config} {
			weights, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer weights.Close()
			a, err := ReadArchitecture(architecture)
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(weights, "keras", Options{Architecture: a})
			if refused := errors.Is(err, views.ErrShape); refused != (changed != "") {
				t.Errorf("%s, %q changed: %v", filepath.Base(architecture), changed, err)
			}
		}
	}
}

// TestShapesOfWeights: what Keras's layers take for inputs of 4 channels.
func TestShapesOfWeights(t *testing.T) {
	layer := func(class string, config map[string]any) *keras.Layer {
		return &keras.Layer{Class: class, Config: config, InputShapes: [][]int{{2, 3, 4}}}
	}
	lstm := map[string]any{"layer": map[string]any{"class_name": "LSTM", "config": map[string]any{"units": 5.0}}}
	for _, c := range []struct {
		layer  *keras.Layer
		weight string
		want   []int
	}{
		{layer("PReLU", map[string]any{"shared_axes": []any{1.0, 2.0}}), "alpha", []int{1, 1, 4}},
		{layer("LayerNormalization", map[string]any{"axis": []any{1.0, 2.0, 3.0}}), "gamma", []int{2, 3, 4}},
		{layer("LayerNormalization", nil), "beta", []int{4}},
		{layer("GroupNormalization", nil), "gamma", []int{4}},
		{layer("DepthwiseConv2D", map[string]any{"depth_multiplier": 2.0}), "kernel", []int{-1, -1, 4, 2}},
		{layer("MultiHeadAttention", map[string]any{"num_heads": 2.0, "key_dim": 3.0}), "query/kernel", []int{4, 2, 3}},
		{layer("Bidirectional", lstm), "backward/kernel", []int{4, 20}},
	} {
		if got := keras.WeightShapes(c.layer)[c.weight]; !slices.Equal(got, c.want) {
			t.Errorf("%s: %s has shape %v; want %v", c.layer.Class, c.weight, got, c.want)
		}
	}
}

// TestParametersThatAreComputedFromOthers names the call that computes them.
func TestParametersThatAreComputedFromOthers(t *testing.T) {
	for _, c := range []struct {
		have []string
		want string
	}{
		{[]string{"fc.parametrizations.weight.original0"}, `remove_parametrizations(model.fc, "weight")`},
		{[]string{"fc.weight_g", "fc.weight_v"}, "remove_weight_norm(model.fc)"},
		{[]string{"fc.weight_orig", "fc.weight_mask"}, `prune.remove(model.fc, "weight")`},
		{[]string{"fc.weight_orig", "fc.weight_u"}, "remove_spectral_norm(model.fc)"},
		{[]string{"fc.bias"}, ""},
	} {
		parameters := map[string]weights.Tensor{}
		for _, name := range c.have {
			parameters[name] = weights.Tensor{Name: name}
		}
		got := reparametrized("fc.weight", parameters)
		if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: %q; want %q", c.have, got, c.want)
		}
	}
}
