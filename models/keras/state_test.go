package keras

import (
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// TestExportListsWeightsThatNoLinkTakes, but for layers that are refused, which the refusal names.
func TestExportListsWeightsThatNoLinkTakes(t *testing.T) {
	l := Layer{Class: "Mine", Weights: []Weight{w("kernel", 2, 2)}}
	_, unused, err := Export([]LayerPlan{{Path: "a", Layer: &l}, {Path: "b", Layer: &l, Refused: weights.ErrUnsupported}})
	if err != nil || !slices.Equal(unused, []string{"a/kernel"}) {
		t.Errorf("unused: %q, %v; want a/kernel", unused, err)
	}
}

// TestExportAndImport converts a model with a user's names, its optimizer's buffers and a
// layer of two biases to PyTorch and back.
func TestExportAndImport(t *testing.T) {
	m := &Model{Layers: []Layer{
		{Class: "Dense", Name: "head", Weights: []Weight{w("kernel", 2, 3), w("bias", 3)}},
		{Class: "LSTM", Name: "lstm", Weights: []Weight{w("kernel", 3, 8), w("recurrent_kernel", 2, 8), w("bias", 8)}},
		{Class: "BatchNormalization", Name: "norm", Weights: []Weight{w("gamma", 3), w("beta", 3), w("moving_mean", 3), w("moving_variance", 3)}},
		{Class: "Dropout", Name: "drop", Weights: []Weight{w("seed_generator/seed_generator_state", 2)}},
	}}
	for i := range m.Layers {
		for k := range m.Layers[i].Weights {
			if one := &m.Layers[i].Weights[k]; !strings.HasPrefix(one.Name, "moving") {
				one.Slots = map[string]storage.Array{"momentum": weights.Scale(one.Array, 10)}
			}
		}
	}
	plans, err := ModelLinks(m, LinkOptions{Rules: weights.Rules{Modules: map[string]string{"head": "classifier.0"}}})
	if err != nil {
		t.Fatal(err)
	}
	made, unused, err := Export(plans)
	if err != nil || len(unused) > 0 {
		t.Fatalf("unused %v, %v", unused, err)
	}
	byName := map[string]weights.Tensor{}
	for _, one := range made {
		byName[one.Name] = one
	}
	if got := elements(t, byName["classifier.0.weight"].Array); !slices.Equal(got, []float64{1, 4, 2, 5, 3, 6}) {
		t.Errorf("classifier.0.weight: %v", got)
	}
	if got := elements(t, byName["classifier.0.weight"].Slots["momentum"]); !slices.Equal(got, []float64{10, 40, 20, 50, 30, 60}) {
		t.Errorf("its momentum: %v; want it transposed along", got)
	}
	if got := elements(t, byName["lstm.bias_hh_l0"].Array); slices.Max(got) != 0 {
		t.Errorf("the second bias: %v; want zeros", got)
	}
	if got := elements(t, byName["lstm.bias_hh_l0"].Slots["momentum"]); got[1] != 20 {
		t.Errorf("momentum of the second bias: %v; want that of the first", got)
	}
	if count := byName["norm.num_batches_tracked"]; count.Array.Type != dtype.Int64 || count.Array.Rank() != 0 || count.Slots != nil {
		t.Errorf("num_batches_tracked: %v", count.Array)
	}
	if len(byName["norm.running_mean"].Slots) != 0 {
		t.Error("running_mean has optimizer state")
	}

	want := m.Layers[1].Weights
	empty := &Model{Layers: []Layer{{Class: "Dense", Name: "head"}, {Class: "LSTM", Name: "lstm"}, {Class: "BatchNormalization", Name: "norm"}}}
	plans, err = ModelLinks(empty, LinkOptions{Rules: weights.Rules{Modules: map[string]string{"head": "classifier.0"}}})
	if err != nil {
		t.Fatal(err)
	}
	byName["extra"] = weights.Tensor{Name: "extra"}
	delete(byName, "norm.num_batches_tracked") // of PyTorch before 0.4
	_, missing, unused, err := Import(plans, byName)
	if err != nil || len(missing) > 0 || !slices.Equal(unused, []string{"extra"}) {
		t.Fatalf("missing %v, unused %v, %v", missing, unused, err)
	}
	for _, one := range want {
		back, ok := empty.Layers[1].Weight(one.Name)
		if !ok || !slices.Equal(elements(t, back.Array), elements(t, one.Array)) || !slices.Equal(elements(t, back.Slots["momentum"]), elements(t, one.Slots["momentum"])) {
			t.Errorf("%s came back as %v", one.Name, back)
		}
	}
	delete(byName, "lstm.bias_hh_l0")
	if _, missing, _, err = Import(plans, byName); err != nil || !slices.Equal(missing, []string{"lstm.bias_hh_l0"}) {
		t.Errorf("missing %v, %v", missing, err)
	}
}
