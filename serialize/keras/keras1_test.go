package keras_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
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
	f := open(t, name)
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
	if _, err := serialize.Lookup(f, "l_1/W_i"); err == nil || !strings.Contains(err.Error(), "each gate") {
		t.Errorf("an LSTM of Keras 1: %v", err)
	}
}
