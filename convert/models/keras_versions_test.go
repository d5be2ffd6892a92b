package models_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/convert/models"
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
	if !strings.Contains(notes, "1 layers have slashes") {
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
	p := planned(t, "../../serialize/keras/testdata/keras2_cnn.keras", "keras-h5", models.Options{})
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
		{"module": "keras.src.ops.numpy", "class_name": "Flip", "name": "g", "config": {"name": "g", "axis": 1}, "registered_name": "Flip",
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
		for path, want := range map[string]bool{"e": false, "g": lost, "s": lost} { // e is tf.math.exp
			if of := p.Lost.Of(path); of.Avoidable() != want {
				t.Errorf("Keras %s: layer %s: lost %v; want one property: %v", version, path, p.Lost, want)
			}
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
