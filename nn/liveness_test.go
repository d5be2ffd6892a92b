package nn_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// twenty returns a CNN of 20 layers, as a sequence or as a graph with a residual of every fourth.
func twenty(graph bool) nn.Module {
	var layers nn.Sequential
	var nodes nn.Nodes
	for i := range 10 {
		conv, relu := nn.NewConv2d(nn.ConvOptions{InChannels: 8, OutChannels: 8, KernelSize: nn.Sizes{3}, Padding: nn.Sizes{1}}), nn.ReLU{}
		layers = append(layers, conv, relu)
		name := string(rune('a' + i))
		node := nn.Node{Name: name + "c", Module: conv}
		nodes = append(nodes, node, nn.Node{Name: name, Module: relu})
		if i%4 == 3 {
			nodes = append(nodes, nn.Node{Name: name + "s", Module: nn.Add{}, From: nn.Names{name, string(rune('a' + i - 2))}})
		}
	}
	if graph {
		return nn.NewGraph(nn.GraphOptions{Nodes: nodes})
	}
	return layers
}

// TestInferenceReleasesValuesAfterTheirLastUse: a CNN of 20 layers needs memory for few of its results, and gives what a
// recorded step gives.
func TestInferenceReleasesValuesAfterTheirLastUse(t *testing.T) {
	for graph, most := range map[bool]int{false: 3, true: 4} {
		model := twenty(graph)
		nn.Init(model, 1)
		x, err := storage.Make(storage.CPU, dtype.Float32, 4, 8, 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		tensor.FillNormal(x, 0, 1, tensor.Key{Seed: 2})
		var got, want []float32
		peak := 0
		if err := tensor.Step(func(tape *tensor.Tape) error {
			want = tensor.Values[float32](model.Forward(tape.Input(x)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := tensor.Infer(func(tape *tensor.Tape) error {
			got = tensor.Values[float32](model.Forward(tape.Input(x)))
			peak = tape.PeakMemory()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("graph %v: inference differs from the recorded step", graph)
		}
		if results := peak / x.NBytes(); results > most {
			t.Errorf("graph %v: inference holds %d results at once, want at most %d", graph, results, most)
		}
	}
}

// TestWhatALayerEmbedsIsNoModule of its own: each name has one.
func TestWhatALayerEmbedsIsNoModule(t *testing.T) {
	seen := map[string]bool{}
	for name := range nn.Modules(nn.Sequential{nn.NewConv2d(nn.ConvOptions{InChannels: 1, OutChannels: 2, KernelSize: nn.Sizes{3}}), nn.NewBatchNorm2d(nn.BatchNormOptions{NumFeatures: 2})}) {
		if seen[name] {
			t.Errorf("two modules are named %q", name)
		}
		seen[name] = true
	}
}
