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
