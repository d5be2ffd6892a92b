package models_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestStatesForKeras3 converts .h5 files of Keras 2 to .keras, where Keras 3 skips the state of an
// optimizer with another number of variables than its own.
func TestStatesForKeras3(t *testing.T) {
	for training, want := range map[string]struct {
		array     string // of OUT
		lost      int
		avoidable bool
	}{
		`{"optimizer_config": {"class_name": "Adam", "config": {}}}`:               {"optimizer/learning_rate", 0, false},
		`{"optimizer_config": {"class_name": "SGD", "config": {"momentum": 0.0}}}`: {"optimizer/learning_rate", 2, false},
		`{"optimizer_config": {"class_name": "Mine>Adam", "config": {}}}`:          {"optimizer/iteration", 1, true},
		`{"optimizer_config": {"class_name": "Nadam", "config": {"decay": 0.1}}}`:  {"optimizer/u_product", 1, true},
	} {
		in := filepath.Join(t.TempDir(), "m.h5")
		weight, step := storage.From([]float32{3, 4}, 2, 1), storage.From([]int64{7})
		entries := serialize.Entries(serialize.Entry{Name: "head_optimizer/kernel", Array: weight}, serialize.Entry{Name: "optimizer/iteration", Array: step},
			serialize.Entry{Name: "optimizer/momentum/head_optimizer/kernel", Array: weight}, serialize.Entry{Name: "optimizer/velocity/head_optimizer/kernel", Array: weight})
		meta := map[string]string{"model_config": dense, "training_config": training, "keras_version": "2.4.0"}
		if err := serialize.Save(in, "keras-h5", serialize.Contents{Entries: entries, Meta: meta}); err != nil {
			t.Fatal(err)
		}
		p := planned(t, in, "keras", models.Options{})
		lost := 0
		for _, item := range p.Lost {
			lost += item.Count
		}
		has := slices.ContainsFunc(p.Tensors, func(t weights.Tensor) bool { return t.Name == want.array })
		if !has || lost != want.lost || p.Lost.Avoidable() != want.avoidable {
			t.Errorf("%s: lost %v, arrays %v; want %d lost and %s", training, p.Lost, p.Tensors, want.lost, want.array)
		}
	}
}
