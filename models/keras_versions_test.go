package models_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestOldNamesInKeras3 converts an .h5 of Keras 2 with names that Keras 3 refuses, and a layer of
// a program's own class, whose weights have numbers in a .keras.
func TestOldNamesInKeras3(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "s", "layers": [
		{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [null, 3]}},
		{"class_name": "Dense", "config": {"name": "block/dense", "units": 2, "activation": "hard_sigmoid"}},
		{"class_name": "Mine>Scale", "config": {"name": "scale"}}]}}`
	in, out := filepath.Join(t.TempDir(), "m.h5"), filepath.Join(t.TempDir(), "m.keras")
	entries := []serialize.Entry{
		{Name: "block/dense/kernel", Array: storage.From(make([]float32, 6), 3, 2)}, {Name: "block/dense/bias", Array: storage.From([]float32{1, 2}, 2)},
		{Name: "scale/w", Array: storage.From([]float32{3, 4}, 2)}, {Name: "scale/a", Array: storage.From([]float32{5, 6}, 2)},
	}
	all := func(yield func(serialize.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	if err := serialize.Save(in, "keras-h5", serialize.Contents{Entries: all, Meta: map[string]string{"model_config": config, "keras_version": "2.4.0"}}); err != nil {
		t.Fatal(err)
	}
	p := planned(t, in, "keras", models.Options{})
	notes := strings.Join(p.Notes, "\n")
	if !strings.Contains(notes, "1 layers have slashes or dots") {
		t.Errorf("notes: %s", notes)
	}
	if lost := p.Lost.Of("block/dense"); !lost.Avoidable() {
		t.Errorf("lost %v; want the slope of hard_sigmoid", p.Lost)
	}
	if err := p.Write(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for e, err := range f.All() {
		if err != nil {
			t.Error(err)
		}
		names = append(names, e.Name)
	}
	if want := []string{"block_dense/kernel", "block_dense/bias", "scale/0", "scale/1"}; !slices.Equal(names, want) {
		t.Errorf("arrays %v; want %v", names, want)
	}
	if a, err := serialize.Find(f, "scale/0"); err != nil {
		t.Error(err)
	} else if v, err := storage.Read[float32](a); err != nil || v[0] != 3 {
		t.Errorf("scale/0 is %v (%v); want the first weight of the .h5", v, err)
	}
}

// TestMetricsAreNoWeights converts a compiled .keras of Keras 2, which has the means of its
// metrics, to .h5, which has no place for them.
func TestMetricsAreNoWeights(t *testing.T) {
	p := planned(t, "../serialize/kerasfile/testdata/keras2_cnn.keras", "keras-h5", models.Options{})
	if len(p.Lost) == 0 || !strings.HasPrefix(p.Lost[0].Path, "metrics/") || p.Err() != nil {
		t.Errorf("lost: %v (%v); want metrics", p.Lost, p.Err())
	}
	if err := p.Write(t.Context(), filepath.Join(t.TempDir(), "m.h5")); err != nil {
		t.Error(err)
	}
}

// TestLegacyFilesThatKeras2DoesNotLoad: operations of Keras 3 that are no functions of TensorFlow
// there, and a layer that Keras 2 finds in a .keras only.
func TestLegacyFilesThatKeras2DoesNotLoad(t *testing.T) {
	const config = `{"class_name": "Functional", "config": {"name": "f", "layers": [
		{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
		{"module": "keras.src.ops.numpy", "class_name": "Exp", "name": "e", "config": {"name": "e"}, "registered_name": "Exp",
			"inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "dtype": "float32", "keras_history": ["i", 0, 0]}}], "kwargs": {}}]},
		{"module": "keras.src.ops.numpy", "class_name": "Roll", "name": "g", "config": {"name": "g", "shift": 1}, "registered_name": "Roll",
			"inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "dtype": "float32", "keras_history": ["e", 0, 0]}}], "kwargs": {}}]},
		{"class_name": "SpectralNormalization", "name": "s", "config": {"name": "s", "layer": {"class_name": "Dense", "config": {"name": "d", "units": 1}}},
			"inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "dtype": "float32", "keras_history": ["g", 0, 0]}}], "kwargs": {}}]}],
		"input_layers": [["i", 0, 0]], "output_layers": [["s", 0, 0]]}}`
	in := filepath.Join(t.TempDir(), "m.keras")
	entries := serialize.Entries(
		serialize.Entry{Name: "s/kernel", Array: storage.From([]float32{1, 2, 3}, 3, 1)},
		serialize.Entry{Name: "s/bias", Array: storage.From([]float32{1}, 1)},
		serialize.Entry{Name: "s/vector_u", Array: storage.From([]float32{1}, 1, 1)})
	for version, lost := range map[string]bool{"2.15.0": true, "3.1.0": false} {
		if err := serialize.Save(in, "keras", serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": config, "keras_version": version}}); err != nil {
			t.Fatal(err)
		}
		s, err := models.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := models.New(s, "keras-h5", models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if noted := strings.Contains(strings.Join(p.Notes, "\n"), "write a .keras for it"); noted != lost {
			t.Errorf("Keras %s: notes %q; want one about Keras 3: %v", version, p.Notes, lost)
		}
		for path, want := range map[string]bool{"e": false, "g": lost, "s": lost} { // e is tf.math.exp
			if of := p.Lost.Of(path); of.Avoidable() != want {
				t.Errorf("Keras %s: layer %s: lost %v; want one property: %v", version, path, p.Lost, want)
			}
		}
	}
}

// TestClassesNamedLikeOperations: a program's own Norm is not the operation of Keras 3.
func TestClassesNamedLikeOperations(t *testing.T) {
	const config = `{"class_name": "Functional", "config": {"name": "f", "layers": [
		{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
		{"module": null, "class_name": "Norm", "name": "n", "config": {"name": "n"}, "registered_name": "mine>Norm", "inbound_nodes": [[["i", 0, 0, {}]]]}],
		"input_layers": [["i", 0, 0]], "output_layers": [["n", 0, 0]]}}`
	in := filepath.Join(t.TempDir(), "m.keras")
	entries := serialize.Entries(serialize.Entry{Name: "n/0", Array: storage.From([]float32{1, 2, 3}, 3)})
	if err := serialize.Save(in, "keras", serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": config, "keras_version": "2.15.0"}}); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"keras", "keras-h5"} {
		if p := planned(t, in, format, models.Options{}); len(p.Lost) > 0 {
			t.Errorf("%s: lost %v", format, p.Lost)
		}
	}
}

// TestMissingMetricsAreNoted: Keras 2.15 wants those of a model that was trained.
func TestMissingMetricsAreNoted(t *testing.T) {
	for in, want := range map[string]bool{"keras2_cnn.h5": true, "keras2_cnn.keras": false} {
		p := planned(t, "../serialize/kerasfile/testdata/"+in, "keras-weights", models.Options{})
		if got := strings.Contains(strings.Join(p.Notes, " "), "IN has no metrics"); got != want {
			t.Errorf("%s: notes %q; want one about metrics: %v", in, p.Notes, want)
		}
	}
}

// TestTrainingWithoutOptimizerIsNoted: an .h5 cannot have it.
func TestTrainingWithoutOptimizerIsNoted(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 1]}}, {"class_name": "Flatten", "config": {"name": "f"}}]}}`
	for training, want := range map[string]bool{`{"loss": "mse"}`: true, `{}`: false, `{"loss": "mse", "optimizer": "sgd"}`: false} {
		in := filepath.Join(t.TempDir(), "m.keras")
		meta := map[string]string{"model_config": config, "keras_version": "3.15.0", "training_config": training}
		if err := serialize.Save(in, "keras", serialize.Contents{Entries: serialize.Entries(), Meta: meta}); err != nil {
			t.Fatal(err)
		}
		s, err := models.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := models.New(s, "keras-h5", models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(p.Notes, "\n"), "compile the model again"); got != want {
			t.Errorf("%s: notes %v; want one: %v", training, p.Notes, want)
		}
	}
}

// TestFunctionsOfTensorFlowInKeras3 has Keras 2 save a model with functions of TensorFlow, and Keras 3
// predict with it.
func TestFunctionsOfTensorFlowInKeras3(t *testing.T) {
	t.Setenv("KERAS_BACKEND", "torch")
	keras2 := pythontest.Interpreter(t, "H5DNN_PYTHON_KERAS2", "tensorflow")
	keras3 := pythontest.Interpreter(t, pythontest.Variable, "keras")
	folder := t.TempDir()
	pythontest.Command(t, exec.Command(keras2, "-c", `
import sys, numpy as np, tensorflow as tf
from tensorflow import keras
tf.keras.utils.set_random_seed(1)
i = keras.Input((6, 4)); a = keras.layers.Dense(4)(i); b = keras.layers.Dense(4)(i)
score = tf.nn.softmax(tf.matmul(a, b, transpose_b=True) / 2.0)
x = tf.concat([tf.matmul(score, b), 1.0 - b], axis=1)
left, right = tf.split(x, 2, axis=-1)
y = tf.where(left > 0.0, left, tf.math.pow(right, 2)) * tf.cast(right <= 0.5, "float32")
z = tf.nn.gelu(tf.transpose(tf.stack([y, left], axis=1), [0, 2, 1, 3])[:, 1:9:2, ..., -1])
z = tf.math.l2_normalize(tf.reshape(z, (-1, 8)), axis=-1) + tf.reduce_max(tf.clip_by_value(x, -1.0, 1.0), axis=[1, 2], keepdims=False)[:, tf.newaxis]
m = keras.Model(i, [z, tf.cumsum(tf.square(left)), tf.gather(x, [0, 2], axis=1), tf.nn.leaky_relu(x, alpha=0.1)])
data = np.random.default_rng(2).normal(size=(3, 6, 4)).astype("float32")
m.save(sys.argv[1] + "/m.h5")
np.savez(sys.argv[1] + "/y.npz", x=data, *m.predict(data, verbose=0))
`, folder))
	p := planned(t, filepath.Join(folder, "m.h5"), "keras", models.Options{})
	if len(p.Lost) > 0 {
		t.Errorf("lost: %v", p.Lost)
	}
	if err := p.Write(t.Context(), filepath.Join(folder, "m.keras")); err != nil {
		t.Fatal(err)
	}
	out := pythontest.Command(t, exec.Command(keras3, "-c", `
import sys, numpy as np, keras
stored = np.load(sys.argv[1] + "/y.npz")
for i, y in enumerate(keras.models.load_model(sys.argv[1] + "/m.keras").predict(stored["x"], verbose=0)):
    want = stored[f"arr_{i}"]
    print("output", y.shape == want.shape and float(np.abs(y - want).max()) < 1e-5)
`, folder))
	if strings.Count(out, "output True") != 4 {
		t.Errorf("predictions of Keras 3 differ from those of Keras 2:\n%s", out)
	}
}

// TestBuffersOfLayersOfUnknownClasses have their place in the state of the optimizer, from which they
// get their names back.
func TestBuffersOfLayersOfUnknownClasses(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [null, 1]}},
		{"class_name": "Mine>Scale", "config": {"name": "own"}},
		{"class_name": "Dense", "config": {"name": "d", "units": 1, "use_bias": false}}]}}`
	const training = `{"loss": "mse", "optimizer_config": {"class_name": "Custom>RMSprop", "config": {"learning_rate": 0.5, "is_legacy_optimizer": false, "ema_momentum": 0.99}}}`
	step := storage.From([]int64{3}, 1)
	var err error
	if step.View, err = step.Reshape(); err != nil {
		t.Fatal(err)
	}
	contents := serialize.Contents{Meta: map[string]string{"model_config": config, "training_config": training, "keras_version": "2.15.0"}, Entries: serialize.Entries(
		serialize.Entry{Name: "own/w", Array: storage.From([]float32{1}, 1)}, serialize.Entry{Name: "d/kernel", Array: storage.From([]float32{2}, 1, 1)},
		serialize.Entry{Name: "optimizer/iteration", Array: step},
		serialize.Entry{Name: "optimizer/velocity/own/w", Array: storage.From([]float32{7}, 1)},
		serialize.Entry{Name: "optimizer/velocity/d/kernel", Array: storage.From([]float32{8}, 1, 1)})}
	dir := t.TempDir()
	if err := serialize.Save(filepath.Join(dir, "m.h5"), "keras-h5", contents); err != nil {
		t.Fatal(err)
	}
	p := planned(t, filepath.Join(dir, "m.h5"), "keras", models.Options{})
	if len(p.Lost) > 0 {
		t.Errorf("lost %v", p.Lost)
	}
	if err := p.Write(t.Context(), filepath.Join(dir, "m.keras")); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(filepath.Join(dir, "m.keras"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, want := range map[string]float32{"optimizer/learning_rate": 0.5, "optimizer/velocity/own/0": 7, "optimizer/velocity/d/kernel": 8} {
		a, err := serialize.Find(f, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[float32](a); err != nil || got[0] != want {
			t.Errorf("%s is %v, %v; want %v", name, got, err, want)
		}
	}
}
