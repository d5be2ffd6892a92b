package kerasfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// TestNamesOfWeights takes the name of a layer, which may have slashes, from those of its weights.
func TestNamesOfWeights(t *testing.T) {
	for _, c := range [][3]string{
		{"dense", "dense/kernel:0", "kernel"}, {"dense_1", "dense_1/dense_1/kernel:0", "dense_1/kernel"}, {"dense", "model/dense/kernel", "kernel"},
		{"conv/depthwise", "conv/depthwise/depthwise_kernel:0", "depthwise_kernel"}, {"conv/bn", "conv/bn/gamma:0", "gamma"},
	} {
		if got := canonical(c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s is called %s; want %s", c[1], c[0], got, c[2])
		}
	}
}

// TestOrderOfOldOptimizers writes the state of an optimizer of Keras up to 2.10 in its order, by
// which Keras loads it: kernel and bias have the same shape here.
func TestOrderOfOldOptimizers(t *testing.T) {
	const model = `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [null, 1]}}, {"class_name": "Dense", "config": {"name": "d", "units": 1}}]}}`
	for settings, want := range map[string][]string{
		`{"class_name": "Adam", "config": {"learning_rate": 0.1, "decay": 0.0}}`: {
			"iteration", "momentum/d/kernel", "momentum/d/bias", "velocity/d/kernel", "velocity/d/bias"},
		`{"class_name": "RMSprop", "config": {"learning_rate": 0.1, "momentum": 0.5}}`: {
			"iteration", "velocity/d/kernel", "momentum/d/kernel", "velocity/d/bias", "momentum/d/bias"},
		`{"class_name": "Custom>Adam", "config": {"learning_rate": 0.1, "is_legacy_optimizer": false}}`: nil,
		`{"class_name": "Adam", "config": {"learning_rate": 0.1, "ema_momentum": 0.99}}`:                nil, // from a .keras for Keras 3
	} {
		meta := map[string]string{MetaConfig: model, MetaTraining: `{"loss": "mse", "optimizer_config": ` + settings + `}`, MetaVersion: "2.4.0"}
		var entries []serialize.Entry
		for _, name := range []string{"d/kernel", "d/bias", "optimizer/iteration", "optimizer/velocity/d/bias", "optimizer/momentum/d/bias", "optimizer/momentum/d/kernel", "optimizer/velocity/d/kernel"} {
			entries = append(entries, serialize.Entry{Name: name, Array: storage.From([]float32{1}, 1)})
		}
		s, err := newSaver(serialize.Contents{Meta: meta, Entries: func(yield func(serialize.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range want {
			want[i] = keras.OptimizerPrefix + name
		}
		if got := s.state().OrderedUpTo210(); !slices.Equal(got, want) {
			t.Errorf("%s: %v; want %v", settings, got, want)
		}
	}
}

// TestLongListsOfNamesAreDivided as Keras divides them: the names of 700 layers do not fit one
// attribute.
func TestLongListsOfNamesAreDivided(t *testing.T) {
	name := filepath.Join(t.TempDir(), "many.h5")
	var want []string
	var entries []serialize.Entry
	for i := range 700 {
		layer := fmt.Sprintf("%s%d", strings.Repeat("layer_", 16), i)
		want = append(want, layer)
		entries = append(entries, serialize.Entry{Name: layer + "/kernel", Array: storage.From([]float32{float32(i)}, 1)})
	}
	if err := serialize.Save(name, "keras-h5", serialize.Contents{Entries: serialize.Entries(entries...)}); err != nil {
		t.Fatal(err)
	}
	h5, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer h5.Close()
	root, err := h5.Root()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for part := range 2 {
		a, err := root.Attribute(fmt.Sprint("layer_names", part))
		if err != nil {
			t.Fatal(err)
		}
		names, err := a.Strings()
		if size := len(names) * a.Type.Size; err != nil || size > headerLimit {
			t.Errorf("layer_names%d has %d bytes, %v; want at most %d", part, size, err, headerLimit)
		}
		got = append(got, names...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d names, want %d in their order", len(got), len(want))
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if all, err := serialize.Collect(f); err != nil || len(all) != len(entries) {
		t.Errorf("%d arrays are read, %v; want %d", len(all), err, len(entries))
	}
}

// TestCellsOfOneLayerHaveNames of their own, which are left out of those of a layer of one cell.
func TestCellsOfOneLayerHaveNames(t *testing.T) {
	for weights, want := range map[string]string{
		"m/rnn/lstm_cell/kernel m/rnn/lstm_cell/bias":                                                "rnn/kernel rnn/bias",
		"m/rnn/stacked_rnn_cells/lstm_cell/kernel m/rnn/stacked_rnn_cells/lstm_cell_1/kernel":        "rnn/stacked_rnn_cells/lstm_cell/kernel rnn/stacked_rnn_cells/lstm_cell_1/kernel",
		"rnn/stacked_rnn_cells/lstm_cell/kernel rnn/stacked_rnn_cells/lstm_cell_1/kernel":            "rnn/stacked_rnn_cells/lstm_cell/kernel rnn/stacked_rnn_cells/lstm_cell_1/kernel",
		"rnn/stacked_rnn_cells/lstm_cell/kernel:0 rnn/stacked_rnn_cells/gru_cell/recurrent_kernel:0": "rnn/stacked_rnn_cells/kernel rnn/stacked_rnn_cells/recurrent_kernel",
	} {
		l := legacyReader{file: newFile(nil, func() error { return nil })}
		if got := strings.Join(l.namesOf("rnn", "rnn", strings.Fields(weights)), " "); got != want {
			t.Errorf("%s: %s; want %s", weights, got, want)
		}
	}
}

// TestNamesOfModelsWithinModels: Keras leaves out the models between, so that the name of a layer
// may be that of several, and the order of the weights says which it is.
func TestNamesOfModelsWithinModels(t *testing.T) {
	m, err := keras.Parse(`{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "Sequential", "config": {"name": "c", "layers": [
		{"class_name": "Sequential", "config": {"name": "b", "layers": [
			{"class_name": "Sequential", "config": {"name": "a", "layers": [{"class_name": "Dense", "config": {"name": "d", "units": 2, "use_bias": false}}]}},
			{"class_name": "BatchNormalization", "config": {"name": "n", "center": false}}]}},
		{"class_name": "Dense", "config": {"name": "d", "units": 2, "use_bias": false}}]}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	f := newFile(nil, func() error { return nil })
	f.model = m
	weights := []string{"a/d/kernel", "b/n/gamma", "d/kernel", "b/n/moving_mean", "b/n/moving_variance"}
	want := "c/b/a/d/kernel c/b/n/gamma c/d/kernel c/b/n/moving_mean c/b/n/moving_variance"
	if got := strings.Join(legacyReader{file: f}.namesOf("c", "c", weights), " "); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestDepthwiseKernelsHaveTheNameOfKeras3 also within models, and where the names of other weights
// are those of no layer: a Normalization that was adapted before the model had it.
func TestDepthwiseKernelsHaveTheNameOfKeras3(t *testing.T) {
	m, err := keras.Parse(`{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "Sequential", "config": {"name": "b", "layers": [
		{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [null, 8, 8, 3]}},
		{"class_name": "SeparableConv2D", "config": {"name": "s", "filters": 2, "kernel_size": 1, "use_bias": false}},
		{"class_name": "DepthwiseConv2D", "config": {"name": "x/d", "kernel_size": 3, "use_bias": false}},
		{"class_name": "Mine>Scale", "config": {"name": "own"}},
		{"class_name": "Normalization", "config": {"name": "n", "axis": [-1]}}]}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	for weights, want := range map[string]string{
		"s/depthwise_kernel:0 s/pointwise_kernel:0 x/d/depthwise_kernel:0 n/mean:0 n/variance:0 n/count:0": "b/s/depthwise_kernel b/s/pointwise_kernel b/x/d/kernel b/n/mean b/n/variance b/n/count",
		"s/depthwise_kernel:0 s/pointwise_kernel:0 x/d/depthwise_kernel:0 mean:0 variance:0 count:0":       "b/s/depthwise_kernel b/s/pointwise_kernel b/x/d/kernel b/n/mean b/n/variance b/n/count",
	} {
		f := newFile(nil, func() error { return nil })
		f.model = m
		if got := strings.Join(legacyReader{file: f}.namesOf("b", "b", strings.Fields(weights)), " "); got != want {
			t.Errorf("%s: %s; want %s", weights, got, want)
		}
	}
}

// TestFrozenCellsComeLast: Keras lists what it trains before what it does not.
func TestFrozenCellsComeLast(t *testing.T) {
	cell := func(class string, trainable bool) map[string]any {
		return map[string]any{"class_name": class, "config": map[string]any{"units": 2.0, "use_bias": false, "trainable": trainable}}
	}
	cells := map[string]any{"class_name": "StackedRNNCells", "config": map[string]any{"cells": []any{cell("LSTMCell", false), cell("GRUCell", true)}}}
	rnn := &keras.Layer{Class: "RNN", Name: "r", Config: map[string]any{"cell": cells}}
	got := matched(rnn, []string{"a/kernel", "a/recurrent_kernel", "b/kernel", "b/recurrent_kernel"})
	if want := []string{"gru_cell/kernel", "gru_cell/recurrent_kernel", "lstm_cell/kernel", "lstm_cell/recurrent_kernel"}; !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
