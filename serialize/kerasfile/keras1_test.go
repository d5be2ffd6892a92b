package kerasfile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestKernelsOfKeras1AreReordered reads a file as Keras 1 wrote it: the names of variables
// follow the layer's, the file says no version, and kernels of Theano's order are (filters,
// channels, rows, columns).
func TestKernelsOfKeras1AreReordered(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": [
		{"class_name": "Convolution2D", "config": {"name": "c_1", "nb_filter": 2, "nb_row": 1, "nb_col": 3, "dim_ordering": "th", "border_mode": "valid", "batch_input_shape": [null, 2, 4, 4], "bias": true}},
		{"class_name": "Flatten", "config": {"name": "f_1"}},
		{"class_name": "Dense", "config": {"name": "d_1", "output_dim": 1, "activation": "linear"}},
		{"class_name": "LSTM", "config": {"name": "l_1", "output_dim": 1}}]}`
	name := filepath.Join(t.TempDir(), "old.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	kernel := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for _, err := range []error{
		w.Group("/model_weights"), w.SetAttr("/", "model_config", config),
		w.SetAttr("/model_weights", "layer_names", hdf5write.Bytes{"c_1", "f_1", "d_1", "l_1"}),
		w.Write("/model_weights/c_1/c_1_W", storage.From(kernel, 2, 2, 1, 3)), w.Write("/model_weights/c_1/c_1_b", storage.From([]float32{1, 2}, 2)),
		w.SetAttr("/model_weights/c_1", "weight_names", hdf5write.Bytes{"c_1_W", "c_1_b"}),
		w.Group("/model_weights/f_1"), w.SetAttr("/model_weights/f_1", "weight_names", storage.From([]float64{}, 0)),
		w.Write("/model_weights/d_1/d_1_W", storage.From(kernel, 12, 1)), w.SetAttr("/model_weights/d_1", "weight_names", hdf5write.Bytes{"d_1_W"}),
		w.Write("/model_weights/l_1/l_1_W_i", storage.From([]float32{1}, 1, 1)), w.SetAttr("/model_weights/l_1", "weight_names", hdf5write.Bytes{"l_1_W_i"}),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f := serializetest.Open(t, name)
	e, err := serialize.Lookup(f, "c_1/kernel")
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read[float32](e.Array)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}; !slices.Equal(e.Array.Shape, []int{1, 3, 2, 2}) || !slices.Equal(got, want) {
		t.Errorf("kernel %v %v; want %v of [1 3 2 2]", e.Array.Shape, got, want)
	}
	if e, err := serialize.Lookup(f, "d_1/kernel"); err != nil || !slices.Equal(e.Array.Shape, []int{12, 1}) {
		t.Errorf("d_1/kernel: %v, %v", e.Array.Shape, err)
	}
	if _, err := serialize.Lookup(f, "l_1"); err == nil || !strings.Contains(err.Error(), `gates "i"; want those of an LSTM`) {
		t.Errorf("an LSTM of Keras 1 with one gate: %v", err)
	}
}

// TestGatesOfKeras1AreJoined reads an LSTM, a GRU and a Bidirectional of Keras 1, which
// have an array for each gate, with and without their configuration.
func TestGatesOfKeras1AreJoined(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": [
		{"class_name": "LSTM", "config": {"name": "l", "output_dim": 1, "return_sequences": true, "inner_activation": "sigmoid", "batch_input_shape": [null, 2, 1]}},
		{"class_name": "Bidirectional", "config": {"name": "b", "merge_mode": "concat", "layer": {"class_name": "GRU", "config": {"name": "g", "output_dim": 1, "inner_activation": "sigmoid"}}}}]}`
	write := func(name, root, config string) {
		w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		check := func(errs ...error) {
			t.Helper()
			for _, err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if config != "" {
			check(w.Group(root), w.SetAttr("/", "model_config", config))
		}
		check(w.SetAttr(root, "layer_names", hdf5write.Bytes{"l", "b"}))
		value := float32(0)
		for layer, weights := range map[string][]string{"l": gateNames("l", "icfo"), "b": append(gateNames("forward_g", "zrh"), gateNames("backward_g", "zrh")...)} {
			group := strings.TrimSuffix(root, "/") + "/" + layer
			check(w.Group(group), w.SetAttr(group, "weight_names", hdf5write.Bytes(weights)))
			for _, weight := range weights {
				value = float32(strings.IndexByte("icfozrh", weight[len(weight)-1]))
				if strings.HasPrefix(weight, "backward") {
					value += 10
				}
				shape := []int{1, 1}
				if strings.Contains(weight, "_b_") {
					shape = shape[:1]
				}
				check(w.Write(group+"/"+weight, storage.From([]float32{value}, shape...)))
			}
		}
		check(w.Close())
	}
	whole, only := filepath.Join(t.TempDir(), "whole.h5"), filepath.Join(t.TempDir(), "only.h5")
	write(whole, "/model_weights", config)
	write(only, "/", "")
	for _, name := range []string{whole, only} {
		f := serializetest.Open(t, name)
		for entry, want := range map[string][]float32{
			"l/kernel": {0, 2, 1, 3}, "l/recurrent_kernel": {0, 2, 1, 3}, "l/bias": {0, 2, 1, 3},
			"b/forward/kernel": {4, 5, 6}, "b/backward/bias": {14, 15, 16},
		} {
			a, err := serialize.Find(f, entry)
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(name), err)
				continue
			}
			if got, err := storage.Read[float32](a); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %s is %v, %v; want %v", filepath.Base(name), entry, got, err, want)
			}
		}
	}
}

// gateNames returns the names of the weights of a recurrent layer of Keras 1.
func gateNames(layer, gates string) (names []string) {
	for _, gate := range gates {
		for _, kind := range []string{"W", "U", "b"} {
			names = append(names, layer+"_"+kind+"_"+string(gate))
		}
	}
	return names
}
