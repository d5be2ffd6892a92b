package models_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/convert/models"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// dense is a model of one layer, head_optimizer.
const dense = `{"class_name": "Sequential", "config": {"name": "m", "layers": [
	{"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "name": "in"}},
	{"class_name": "Dense", "config": {"name": "head_optimizer", "units": 1, "use_bias": false, "activation": "linear"}}]}}`

// TestStateOfOptimizersIsNotWeights converts a state_dict beside the state of an optimizer, under
// a name that the metadata tell, and a layer of Keras whose name only looks like an optimizer's.
func TestStateOfOptimizersIsNotWeights(t *testing.T) {
	weight := storage.From([]float32{3, 4}, 1, 2)
	name := filepath.Join(t.TempDir(), "m.npz")
	err := serialize.Save(name, "", serialize.Contents{
		Meta: map[string]string{"gan/param_groups/0/lr": "0.1"},
		Entries: serialize.Entries(
			serialize.Entry{Name: "head_optimizer.weight", Array: weight}, serialize.Entry{Name: "gan/state/0/exp_avg", Array: weight}),
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, format string, o models.Options, want int) {
		s, err := models.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := models.New(s, format, o)
		if err != nil {
			t.Fatal(err)
		}
		lost := 0
		for _, item := range p.Lost {
			if item.Path != models.OptimizerPath || item.Kind != loss.Array || !item.Inherent {
				t.Errorf("%s to %s: lost: %v; want the state of the optimizer alone", name, format, item)
			}
			lost += item.Count
		}
		if lost != want || len(p.Tensors) != 1 || !slices.Contains([]string{"head_optimizer.weight", "head_optimizer/kernel"}, p.Tensors[0].Name) {
			t.Errorf("%s to %s: %v and %d lost; want the weights of the layer and %d", name, format, p.Tensors, lost, want)
		}
	}
	check(name, "keras", models.Options{Architecture: architecture(t, "config.json", dense)}, 1)
	file := kerasFile(t, "m.keras", "keras", dense, serialize.Entry{Name: "head_optimizer/kernel", Array: storage.From([]float32{3, 4}, 2, 1)})
	check(file, "torch", models.Options{Framework: checkpoint.PyTorch}, 0)
}
