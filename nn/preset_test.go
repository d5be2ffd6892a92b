package nn_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// TestPresetsHaveTheirPublishedSizes compares the number of parameters for 1000 classes with torchvision's.
func TestPresetsHaveTheirPublishedSizes(t *testing.T) {
	for _, c := range []struct {
		name   string
		params int
		input  []int
		output []int
	}{
		{"resnet18", 11689512, []int{3, 64, 64}, []int{1000}},
		{"resnet34", 21797672, []int{3, 64, 64}, []int{1000}},
		{"resnet50", 25557032, []int{3, 64, 64}, []int{1000}},
		{"mobilenet_v2", 3504872, []int{3, 64, 64}, []int{1000}},
		{"efficientnet_b0", 5288548, []int{3, 64, 64}, []int{1000}},
		{"unet", 0, []int{1, 32, 48}, []int{1000, 32, 48}},
		{"unet3d", 0, []int{1, 8, 16, 8}, []int{1000, 8, 16, 8}},
		{"vit_tiny", 5717416, []int{3, 224, 224}, []int{1000}}, // of timm's vit_tiny_patch16_224
		{"vit_tiny_small", 0, []int{3, 32, 32}, []int{1000}},
		{"transformer", 0, []int{100}, []int{1000}},
		{"gpt", 0, []int{100}, []int{1000, 100}},
		{"lstm", 116712, []int{40, 6}, []int{1000}}, // of PyTorch's nn.LSTM(6, 64, 2) and nn.Linear(64, 1000)
		{"gru", 103784, []int{40, 6}, []int{1000}},
		{"tcn", 0, []int{6, 40}, []int{1000}},
		{"resnet18_small", 0, []int{3, 32, 32}, []int{1000}},
	} {
		m, err := nn.Preset(c.name, 1000)
		if err != nil {
			t.Fatal(err)
		}
		s, err := nn.Summarize(m, c.input)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.Rows[len(s.Rows)-1].Output; len(got) != len(c.output) || got[0] != c.output[0] || got[len(got)-1] != c.output[len(c.output)-1] {
			t.Errorf("%s: output %v; want %v", c.name, got, c.output)
		}
		if c.params > 0 && s.Params != c.params {
			t.Errorf("%s: %d parameters; torchvision's has %d", c.name, s.Params, c.params)
		}
	}
}

// TestPresetsAreCompiled compares programs of presets, of which batch norms, sums and activations are parts of convolutions, with the models.
func TestPresetsAreCompiled(t *testing.T) {
	for name, shape := range map[string][]int{
		"lenet": {2, 1, 28, 28}, "resnet18": {2, 3, 64, 64}, "resnet18_small": {2, 3, 16, 16}, "resnet50": {1, 3, 64, 64}, "mobilenet_v2": {1, 3, 64, 64},
		"efficientnet_b0": {1, 3, 64, 64}, "unet": {1, 1, 16, 24}, "unet3d": {1, 1, 8, 8, 16}, "tcn": {2, 6, 40},
	} {
		m, err := nn.Preset(name, 10)
		if err == nil {
			_, err = nn.Build(m, shape[1:])
		}
		if err != nil {
			t.Fatal(err)
		}
		nn.Eval(m)
		for name, b := range nn.Buffers(m) { // statistics of no special value
			tensor.FillUniform(b.Array, 0.5, 1.5, tensor.Key{Seed: uint64(len(name))})
		}
		p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{m.Forward(xs[0])} }, tensor.InputSpec(dtype.Float32, shape...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x, err := storage.Make(storage.CPU, dtype.Float32, shape...)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(2) {
			tensor.FillNormal(x, 0, 1, tensor.Key{Seed: seed})
			want := m.Forward(tensor.FromArray(x).Detach())
			y, err := storage.Make(storage.CPU, dtype.Float32, want.Shape()...)
			if err == nil {
				err = p.Run([]storage.Array{y}, []storage.Array{x})
			}
			if err != nil {
				t.Fatal(err)
			}
			scale, worst := 1e-30, 0.0
			got := tensor.Values[float64](tensor.FromArray(y))
			for i, w := range tensor.Values[float64](want) {
				scale, worst = max(scale, math.Abs(w)), max(worst, math.Abs(got[i]-w))
			}
			if !(worst <= 1e-5*scale) {
				t.Errorf("%s: differs by %v of at most %v", name, worst, scale)
			}
		}
	}
}

// TestSizesOfUNets: sizes that three poolings do not divide do not join.
func TestSizesOfUNets(t *testing.T) {
	for preset, shape := range map[string][]int{"unet": {1, 20, 16}, "unet3d": {1, 8, 8, 12}} {
		model, err := nn.Preset(preset, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.Build(model, shape); !errors.Is(err, views.ErrShape) || !strings.Contains(err.Error(), "multiples of 8 for unet; pad or resize") {
			t.Errorf("%s for samples %v: error %v", preset, shape, err)
		}
	}
}

// TestPresetsAreDescribed: names alone do not say what a model takes.
func TestPresetsAreDescribed(t *testing.T) {
	for _, name := range nn.Presets() {
		if nn.AboutPreset(name) == "" {
			t.Errorf("%s is not described", name)
		}
	}
}

// TestPresetsAreNoLayers: an error says how a model is one.
func TestPresetsAreNoLayers(t *testing.T) {
	for _, description := range []any{map[string]any{"resnet18": map[string]any{"classes": 7}}, []any{"resnet18", "relu"}} {
		if _, err := nn.FromConfig(description); err == nil || !strings.Contains(err.Error(), "want model: resnet18, without settings") {
			t.Errorf("%v: error %v", description, err)
		}
	}
}
