package models_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
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
		p := planned(t, name, format, o)
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
	check(file, "torch", models.Options{Framework: models.PyTorch}, 0)
}

// TestOptimizersInH5 writes optimizers of PyTorch to an .h5 of Keras 2, as both Keras 2 and Keras 3
// load it: Keras 3 needs loss_weights and floats, Keras 2 refuses weight_decay and makes optimizers
// of before 2.11, which have all first moments before the second ones and no learning rate.
func TestOptimizersInH5(t *testing.T) {
	config := strings.Replace(dense, "batch_shape", "batch_input_shape", 1)
	adam := []string{"adam/iteration", "adam/head_optimizer_kernel_momentum", "adam/head_optimizer_kernel_velocity"}
	adamConfig := `{"class_name":"Adam","config":{"amsgrad":false,"beta_1":0.9,"beta_2":0.99,"epsilon":1e-8,"learning_rate":1.0}}`
	for group, want := range map[string]struct {
		optimizer string
		weights   []string
		lost      int
	}{
		`"betas": "[0.9, 0.99]", "eps": "1e-8", "weight_decay": "0"`:                                     {adamConfig, adam, 0},
		`"betas": "[0.9, 0.99]", "eps": "1e-8", "weight_decay": "0.1", "decoupled_weight_decay": "true"`: {adamConfig, adam, 1},
		`"momentum": "0", "dampening": "0", "weight_decay": "0", "nesterov": "false"`: {
			`{"class_name":"SGD","config":{"learning_rate":1.0,"momentum":0.0,"nesterov":false}}`, []string{"sgd/iteration"}, 0},
	} {
		settings := map[string]string{}
		if err := json.Unmarshal([]byte(`{"lr": "1", "amsgrad": "false", "params": "[0]", `+group+`}`), &settings); err != nil {
			t.Fatal(err)
		}
		meta := map[string]string{}
		for key, value := range settings {
			if key != "amsgrad" || settings["betas"] != "" {
				meta["optimizer_state_dict/param_groups/0/"+key] = value
			}
		}
		list := []serialize.Entry{{Name: "head_optimizer.weight", Array: storage.From([]float32{3, 4}, 1, 2)}}
		if settings["betas"] != "" {
			step := storage.From([]float32{7})
			step.View, _ = step.Reshape()
			list = append(list, serialize.Entry{Name: "optimizer_state_dict/state/0/step", Array: step},
				serialize.Entry{Name: "optimizer_state_dict/state/0/exp_avg", Array: storage.From([]float32{1, 2}, 1, 2)},
				serialize.Entry{Name: "optimizer_state_dict/state/0/exp_avg_sq", Array: storage.From([]float32{5, 6}, 1, 2)})
		}
		dir := t.TempDir()
		name := filepath.Join(dir, "m.npz")
		if err := serialize.Save(name, "", serialize.Contents{Meta: meta, Entries: serialize.Entries(list...)}); err != nil {
			t.Fatal(err)
		}
		p := planned(t, name, "keras-h5", models.Options{Architecture: architecture(t, "config.json", config), Optimizer: true})
		if len(p.Lost) != want.lost {
			t.Errorf("%s: lost: %v; want %d items", group, p.Lost, want.lost)
		}
		out := filepath.Join(dir, "m.h5")
		if err := p.Write(context.Background(), out); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Verify(context.Background(), out); err != nil {
			t.Error(err)
		}
		f, err := hdf5.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := attribute(t, f, "/optimizer_weights", "weight_names"); !slices.Equal(got, want.weights) {
			t.Errorf("%s: weights %q; want %q", group, got, want.weights)
		}
		training := strings.Join(attribute(t, f, "/", "training_config"), "")
		for _, part := range []string{`"optimizer_config":` + want.optimizer, `"loss_weights":null`, `"metrics":null`} {
			if !strings.Contains(training, part) {
				t.Errorf("%s: %s lacks %s", group, training, part)
			}
		}
	}
}

// attribute returns the strings of an attribute.
func attribute(t *testing.T, f *hdf5.File, path, name string) []string {
	t.Helper()
	o, err := f.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := o.Attribute(name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := a.Strings()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMetadataAreReported converts a state_dict of a file that says the epoch, too, and whose
// modules have other names.
func TestMetadataAreReported(t *testing.T) {
	for module, refused := range map[string]bool{"head_optimizer": false, "head": true} {
		name := filepath.Join(t.TempDir(), "m.npz")
		err := serialize.Save(name, "", serialize.Contents{
			Meta:    map[string]string{"epoch": "3", "arch": "net", "optimizer_state_dict/param_groups/0/lr": "0.1"},
			Entries: serialize.Entries(serialize.Entry{Name: module + ".weight", Array: storage.From([]float32{3, 4}, 1, 2)}),
		})
		if err != nil {
			t.Fatal(err)
		}
		p := planned(t, name, "keras", models.Options{Architecture: architecture(t, "config.json", dense)})
		lost := p.Lost.Of("/")
		if len(lost) != 1 || lost[0].Count != 2 || lost[0].Reason != "arch, epoch: a converted model has no metadata" || lost.Avoidable() {
			t.Errorf("%s: lost: %v", module, p.Lost)
		}
		if told := slices.Contains(p.Notes, "a rules file can say what IN calls a module: modules: {head_optimizer: NAME}"); told != refused || (len(p.Refused) > 0) != refused {
			t.Errorf("%s: refused %v, notes %q", module, p.Refused, p.Notes)
		}
	}
}

// TestCountersAreNoted converts a normalization of PyTorch that has seen batches.
func TestCountersAreNoted(t *testing.T) {
	const norm = `{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "name": "in"}},
		{"class_name": "BatchNormalization", "config": {"name": "bn"}}]}}`
	for batches, want := range map[int64]int{0: 0, 5: 1} {
		count := storage.From([]int64{batches})
		count.View, _ = count.Reshape()
		list := []serialize.Entry{{Name: "bn.num_batches_tracked", Array: count}}
		for _, name := range []string{"weight", "bias", "running_mean", "running_var"} {
			list = append(list, serialize.Entry{Name: "bn." + name, Array: storage.From([]float32{1, 2}, 2)})
		}
		name := filepath.Join(t.TempDir(), "m.npz")
		if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Entries(list...)}); err != nil {
			t.Fatal(err)
		}
		p := planned(t, name, "keras", models.Options{Architecture: architecture(t, "config.json", norm)})
		if len(p.Tensors) != 4 || len(p.Notes) != want || want > 0 && !strings.Contains(p.Notes[0], "left out: 1 × num_batches_tracked") {
			t.Errorf("%d batches: %v, notes %q", batches, p.Tensors, p.Notes)
		}
	}
}
