package models_test

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"

	_ "github.com/h5dnn/h5dnn/serialize/native"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
)

// network returns a model with other names in Keras, in PyTorch and in nn.
func network(t *testing.T, seed uint64) nn.Sequential {
	t.Helper()
	model := nn.Sequential{
		nn.NewConv2d(nn.ConvOptions{OutChannels: 4, KernelSize: nn.Sizes{3, 3}}), nn.NewBatchNorm2d(nn.BatchNormOptions{NumFeatures: 4}), nn.ReLU{},
		nn.Flatten{}, nn.NewDense(nn.DenseOptions{OutFeatures: 5}),
	}
	if _, err := nn.Build(model, []int{3, 8, 6}); err != nil {
		t.Fatal(err)
	}
	nn.Init(model, seed)
	return model
}

// predict computes a model on fixed input.
func predict(t *testing.T, m nn.Module) (y []float32) {
	t.Helper()
	x := tensor.Key{Seed: 1}.Rand(dtype.Float32, 2, 3, 8, 6)
	err := tensor.Infer(func(*tensor.Tape) error {
		y = tensor.Values[float32](m.Forward(x))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// TestModelsAreSavedAndLoaded saves a model in each format, loads the weights into another one and, where the file keeps the
// layers, loads the model.
func TestModelsAreSavedAndLoaded(t *testing.T) {
	model := network(t, 1)
	for _, p := range nn.Parameters(model) {
		tensor.FillUniform(p.Array(), 0.5, 1, tensor.Key{Seed: 9})
	}
	want := predict(t, model)
	for ext, layers := range map[string]bool{".pt": false, ".safetensors": false, ".npz": false, ".keras": true, ".h5": true, ".h5dn": true} {
		name := filepath.Join(t.TempDir(), "model"+ext)
		samples := [][]int{{3, 8, 6}}
		if !layers {
			samples = nil
		}
		if err := models.Save(name, model, samples...); err != nil {
			t.Errorf("%s: %v", ext, err)
			continue
		}
		other := network(t, 2)
		if err := models.LoadWeights(other, name); err != nil {
			t.Errorf("%s: %v", ext, err)
		} else if got := predict(t, other); !slices.Equal(got, want) {
			t.Errorf("%s: predictions %v, want %v", ext, got[:3], want[:3])
		}
		loadsAllBut(t, name, model)
		loaded, err := models.Load(name)
		switch {
		case !layers:
			var missing *models.MissingArchitectureError
			if !errors.As(err, &missing) {
				t.Errorf("%s: weights alone were loaded as a model: %v", ext, err)
			}
		case err != nil:
			t.Errorf("%s: %v", ext, err)
		case ext != ".keras":
			if got := predict(t, loaded); !slices.Equal(got, want) {
				t.Errorf("%s: predictions %v, want %v", ext, got[:3], want[:3])
			}
		}
	}
	if err := models.Save(filepath.Join(t.TempDir(), "model.keras"), model); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a model of Keras without the shape of a sample: %v", err)
	}
}

// loadsAllBut loads the weights of model from its file into another, but those of the last layer.
func loadsAllBut(t *testing.T, name string, model nn.Module) {
	t.Helper()
	want, other := maps.Collect(nn.StateDict(model)), network(t, 2)
	last := slices.Clone(storage.Elements[float32](maps.Collect(nn.StateDict(other))["4.weight"]))
	except := []string{"4.*"}
	if filepath.Ext(name) == ".keras" {
		except = append(except, "*_4.*")
	}
	if err := models.LoadWeights(other, name, except...); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for param, a := range nn.StateDict(other) {
		expected := storage.Elements[float32](want[param])
		switch param {
		case "4.weight":
			expected = last
		case "4.bias":
			continue
		}
		if !slices.Equal(storage.Elements[float32](a), expected) {
			t.Errorf("%s: %s is not what was expected", name, param)
		}
	}
	if err := models.LoadWeights(other, name, "head.*"); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), `"head.*"`) {
		t.Errorf("a pattern that nothing matches: %v", err)
	}
}

// TestStateDictsHaveNamesOfPyTorch lists the arrays of a saved model.
func TestStateDictsHaveNamesOfPyTorch(t *testing.T) {
	name := filepath.Join(t.TempDir(), "model.npz")
	if err := models.Save(name, network(t, 1)); err != nil {
		t.Fatal(err)
	}
	source, err := models.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var names []string
	for _, e := range source.Entries {
		names = append(names, e.Name)
	}
	if want := []string{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked", "4.weight", "4.bias"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}

// TestWeightsOfOtherModelsAreRefused loads weights into a model with other layers, and nothing of it changes.
func TestWeightsOfOtherModelsAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "model.pt")
	if err := models.Save(name, network(t, 1)); err != nil {
		t.Fatal(err)
	}
	other := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2})}
	nn.Init(other, 3)
	before := tensor.Values[float32](other[0].(*nn.Linear).Weight.Tensor)
	if err := models.LoadWeights(other, name); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "model.pt") {
		t.Errorf("error %v", err)
	}
	if after := tensor.Values[float32](other[0].(*nn.Linear).Weight.Tensor); !slices.Equal(before, after) {
		t.Error("a weight changed")
	}
}

// TestPyTorchLoadsSavedModels loads a state_dict into a module of PyTorch.
func TestPyTorchLoadsSavedModels(t *testing.T) {
	folder := t.TempDir()
	if err := models.Save(folder+"/model.pt", network(t, 1)); err != nil {
		t.Fatal(err)
	}
	got := pythontest.Run(t, []string{"torch"}, `
import sys, torch
from torch import nn
m = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(96, 5))
print(m.load_state_dict(torch.load(sys.argv[1] + '/model.pt')))
torch.save(m.state_dict(), sys.argv[1] + '/back.pt')
`, folder)
	if got != "<All keys matched successfully>\n" {
		t.Error(got)
	}
	if err := models.LoadWeights(network(t, 2), folder+"/back.pt"); err != nil {
		t.Error(err)
	}
}

// TestParametrizedWeightsAreLoaded by the names before torch.nn.utils.parametrize and since.
func TestParametrizedWeightsAreLoaded(t *testing.T) {
	folder := t.TempDir()
	pythontest.Run(t, []string{"torch"}, `
import sys, torch, warnings
from torch import nn
from torch.nn.utils import parametrizations, weight_norm, spectral_norm
warnings.simplefilter("ignore")
torch.manual_seed(1)
x = torch.rand(2, 3, 8, 6)
for name, g, s in ("new", parametrizations.weight_norm, parametrizations.spectral_norm), ("old", weight_norm, spectral_norm):
    m = nn.Sequential(g(nn.Conv2d(3, 4, 3)), nn.Flatten(), s(nn.Linear(96, 5)))
    m(x)
    m.eval()
    torch.save(m.state_dict() | {"x": x, "y": m(x).detach()}, f"{sys.argv[1]}/{name}.pt")
`, folder)
	for _, name := range []string{"new", "old"} {
		file := filepath.Join(folder, name+".pt")
		model, err := nn.FromConfig([]any{
			map[string]any{"weight_norm": map[string]any{"layer": map[string]any{"conv2d": map[string]any{"out_channels": 4, "kernel_size": 3}}}}, "flatten",
			map[string]any{"spectral_norm": map[string]any{"layer": map[string]any{"dense": 5}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.Build(model, []int{3, 8, 6}); err != nil {
			t.Fatal(err)
		}
		nn.Eval(model)
		if err := models.LoadWeights(model, file, "x", "y"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, err := serialize.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		arrays := map[string]*tensor.Tensor{}
		for e, err := range f.All() {
			if err != nil {
				t.Fatal(err)
			}
			arrays[e.Name] = tensor.FromArray(e.Array).CPU()
		}
		if d := model.Forward(arrays["x"]).Sub(arrays["y"]).Abs().Max().Item(); !(d < 1e-6) {
			t.Errorf("%s: outputs differ from PyTorch's by %v", name, d)
		}
	}
}
