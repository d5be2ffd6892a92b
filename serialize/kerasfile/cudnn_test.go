package kerasfile_test

import (
	"archive/zip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestLayersOfCuDNN reads weights of an LSTM and a GRU of cuDNN, of one feature and two units, and the
// optimizer's buffers for them. Matrices are transposed gate by gate, and an LSTM has one bias.
func TestLayersOfCuDNN(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "s", "layers": [
		{"class_name": "CuDNNLSTM", "config": {"name": "a", "units": 2, "batch_input_shape": [null, 4, 1], "return_sequences": true}},
		{"class_name": "CuDNNGRU", "config": {"name": "b", "units": 2}}]}}`
	count := func(shape ...int) storage.Array {
		n := 1
		for _, size := range shape {
			n *= size
		}
		list := make([]float32, n)
		for i := range list {
			list[i] = float32(i)
		}
		return storage.From(list, shape...)
	}
	to := filepath.Join(t.TempDir(), "m.h5")
	entries := serialize.Entries(
		serialize.Entry{Name: "a/kernel", Array: count(1, 8)}, serialize.Entry{Name: "a/recurrent_kernel", Array: count(2, 8)}, serialize.Entry{Name: "a/bias", Array: count(16)},
		serialize.Entry{Name: "b/kernel", Array: count(2, 6)}, serialize.Entry{Name: "b/recurrent_kernel", Array: count(2, 6)}, serialize.Entry{Name: "b/bias", Array: count(12)},
		serialize.Entry{Name: "optimizer/iteration", Array: count(1)},
		serialize.Entry{Name: "optimizer/momentum/a/kernel", Array: count(1, 8)}, serialize.Entry{Name: "optimizer/momentum/a/recurrent_kernel", Array: count(2, 8)}, serialize.Entry{Name: "optimizer/momentum/a/bias", Array: count(16)},
		serialize.Entry{Name: "optimizer/momentum/b/kernel", Array: count(2, 6)}, serialize.Entry{Name: "optimizer/momentum/b/recurrent_kernel", Array: count(2, 6)}, serialize.Entry{Name: "optimizer/momentum/b/bias", Array: count(12)})
	const training = `{"loss": "mse", "optimizer_config": {"class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9}}}`
	if err := serialize.Save(to, "keras-h5", serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": config, "training_config": training, "keras_version": "2.3.1"}}); err != nil {
		t.Fatal(err)
	}
	f := serializetest.Open(t, to)
	for name, want := range map[string][]float32{
		"a/kernel":                  {0, 1, 2, 3, 4, 5, 6, 7},
		"a/recurrent_kernel":        {0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15},
		"a/bias":                    {8, 10, 12, 14, 16, 18, 20, 22},
		"b/kernel":                  {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11},
		"b/bias":                    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
		"optimizer/momentum/a/bias": {0, 1, 2, 3, 4, 5, 6, 7}, "optimizer/momentum/b/kernel": {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11},
	} {
		e, err := serialize.Lookup(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := storage.Read[float32](e.Array); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v (%v); want %v", name, got, err, want)
		}
	}
	if e, err := serialize.Lookup(f, "b/bias"); err != nil || !slices.Equal(e.Array.Shape, []int{2, 6}) {
		t.Errorf("the bias of the GRU has shape %v (%v); want a row for the input and one for the state", e.Array.Shape, err)
	}
}

// TestLayersOfCuDNNInArchives opens a .keras of Keras 2, which has the weights of a layer of cuDNN elsewhere.
func TestLayersOfCuDNNInArchives(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "s", "layers": [
		{"class_name": "CuDNNLSTM", "config": {"name": "a", "units": 2, "batch_input_shape": [null, 4, 1]}}]}}`
	weights, path := filepath.Join(t.TempDir(), "w.h5"), filepath.Join(t.TempDir(), "m.keras")
	w, err := hdf5write.Create(weights, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write("/layers/cu_dnnlstm/vars/0", storage.From(make([]float32, 8), 1, 8)), w.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	b := archive(t, member{"metadata.json", about, zip.Store}, member{"config.json", config, zip.Store}, member{"model.weights.h5", string(text), zip.Store})
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := serialize.Lookup(serializetest.Open(t, path), "a/kernel"); err == nil || !strings.Contains(err.Error(), "save the model as .h5 in Keras 2") {
		t.Errorf("%v; want the way out", err)
	}
}

// TestKerasReadsLayersOfCuDNNTheSame has Keras 2 load weights of layers of cuDNN into others.
func TestKerasReadsLayersOfCuDNNTheSame(t *testing.T) {
	interpreter := pythontest.Interpreter(t, "H5DNN_PYTHON_KERAS2", "tensorflow")
	folder := t.TempDir()
	pythontest.Command(t, exec.Command(interpreter, "-c", `
import sys, numpy as np, tensorflow as tf
from tensorflow import keras
def model(lstm, gru):
    i = keras.Input((6, 3))
    x = gru(5, return_sequences=True, name="gru")(lstm(4, return_sequences=True, name="lstm")(i))
    return keras.Model(i, keras.layers.Bidirectional(lstm(3), name="both")(x))
old = tf.compat.v1.keras.layers
m = model(old.CuDNNLSTM, old.CuDNNGRU)
random = np.random.default_rng(0)
m.set_weights([random.normal(size=w.shape).astype("float32") for w in m.get_weights()])
m.save(sys.argv[1] + "/gpu.h5")
m.save_weights(sys.argv[1] + "/weights.h5")
m = model(keras.layers.LSTM, keras.layers.GRU)
m.load_weights(sys.argv[1] + "/weights.h5")
m.save(sys.argv[1] + "/cpu.h5")
`, folder))
	gpu, n := serializetest.Open(t, filepath.Join(folder, "gpu.h5")), 0
	for want, err := range serializetest.Open(t, filepath.Join(folder, "cpu.h5")).All() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		got, err := serialize.Lookup(gpu, want.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		a, err1 := storage.Read[float32](got.Array)
		b, err2 := storage.Read[float32](want.Array)
		if err1 != nil || err2 != nil || !slices.Equal(got.Array.Shape, want.Array.Shape) || !slices.Equal(a, b) {
			t.Errorf("%s differs from what Keras loads (%v, %v)", want.Name, err1, err2)
		}
	}
	if n != 12 {
		t.Errorf("%d weights; want 12", n)
	}
}
