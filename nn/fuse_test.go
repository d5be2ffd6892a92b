package nn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A fusedLayer counts its calls with an activation and without one.
type fusedLayer struct{ with, without int }

func (l *fusedLayer) Forward(x *tensor.Tensor) *tensor.Tensor {
	l.without++
	return x.AddScalar(-1)
}

func (l *fusedLayer) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	if act != tensor.ReLUActivation {
		panic(act)
	}
	l.with++
	return x.AddScalar(-1).ReLU()
}

func (*fusedLayer) Config() any { return struct{}{} }

// TestActivationsFuseInEveryComposite: a relu that alone uses the result of a layer is
// applied in its kernel, whatever modules the two are in, and otherwise is not.
func TestActivationsFuseInEveryComposite(t *testing.T) {
	graph := func(outputs nn.Names, nodes ...nn.Node) nn.Module {
		return nn.NewGraph(nn.GraphOptions{Nodes: nodes, Outputs: outputs})
	}
	layer := func(m nn.Module) nn.Node { return nn.Node{Name: "layer", Module: m} }
	relu := nn.Node{Name: "relu", Module: nn.ReLU{}}
	for _, c := range []struct {
		name  string
		model func(l nn.Module) nn.Module
		fused bool
	}{
		{"sequential", func(l nn.Module) nn.Module { return nn.Sequential{l, nn.ReLU{}} }, true},
		{"inner sequential", func(l nn.Module) nn.Module { return nn.Sequential{nn.Sequential{nn.Identity{}, l}, nn.ReLU{}} }, true},
		{"residual body", func(l nn.Module) nn.Module {
			return nn.NewResidual(nn.ResidualOptions{Body: nn.Submodule{Module: nn.Sequential{l, nn.ReLU{}}}})
		}, true},
		{"residual shortcut", func(l nn.Module) nn.Module {
			return nn.NewResidual(nn.ResidualOptions{Body: nn.Submodule{Module: nn.Identity{}}, Shortcut: nn.Submodule{Module: nn.Sequential{l, nn.ReLU{}}}})
		}, true},
		{"after the sum of a residual", func(l nn.Module) nn.Module {
			return nn.Sequential{nn.NewResidual(nn.ResidualOptions{Body: nn.Submodule{Module: l}}), nn.ReLU{}}
		}, false},
		{"graph", func(l nn.Module) nn.Module { return graph(nil, layer(l), relu) }, true},
		{"graph, in another order", func(l nn.Module) nn.Module {
			return graph(nn.Names{"relu"}, nn.Node{Name: "relu", Module: nn.ReLU{}, From: nn.Names{"layer"}}, nn.Node{Name: "layer", Module: l, From: nn.Names{"x"}})
		}, true},
		{"graph in a graph", func(l nn.Module) nn.Module {
			return graph(nil, nn.Node{Name: "inner", Module: graph(nil, layer(l))}, relu)
		}, true},
		{"graph in a sequential", func(l nn.Module) nn.Module { return nn.Sequential{graph(nil, layer(l)), nn.ReLU{}} }, true},
		{"graph with another user", func(l nn.Module) nn.Module {
			return graph(nil, layer(l), relu, nn.Node{Name: "sum", Module: nn.Add{}, From: nn.Names{"layer", "relu"}})
		}, false},
		{"graph that returns both", func(l nn.Module) nn.Module { return graph(nn.Names{"layer", "relu"}, layer(l), relu) }, false},
		{"graph whose relu comes after a sum", func(l nn.Module) nn.Module {
			return graph(nil, layer(l), nn.Node{Name: "sum", Module: nn.Add{}, From: nn.Names{"x", "layer"}}, relu)
		}, false},
	} {
		x := storage.From([]float32{-3, 0, 2, 7}, 2, 2)
		run := func(l nn.Module, observe bool) (out []string) {
			err := tensor.Infer(func(tape *tensor.Tape) error {
				if observe {
					defer nn.Observe(tape, func(nn.CallInfo) error { return nil })()
				}
				for _, y := range nn.Call("", c.model(l), tape.Input(x)) {
					out = append(out, fmt.Sprint(tensor.Values[float32](y)))
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return out
		}
		seen, free := &fusedLayer{}, &fusedLayer{}
		want, got := run(seen, true), run(free, false)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
		if seen.with != 0 || (free.with == 1) != c.fused || free.with+free.without != 1 {
			t.Errorf("%s: %d calls with the relu and %d without, want it fused: %v; observed, %d were fused", c.name, free.with, free.without, c.fused, seen.with)
		}
	}
}

// TestActivationsOfSeveralInputsFail as they do unfused, which no fusion hides.
func TestActivationsOfSeveralInputsFail(t *testing.T) {
	g := nn.NewGraph(nn.GraphOptions{Nodes: nn.Nodes{
		{Name: "layer", Module: &fusedLayer{}}, {Name: "relu", Module: nn.ReLU{}, From: nn.Names{"layer", "x"}},
	}})
	err := tensor.Infer(func(tape *tensor.Tape) error {
		g.Forward(tape.Input(storage.From([]float32{1}, 1, 1)))
		return nil
	})
	if err == nil {
		t.Error("a relu of two inputs did not fail")
	}
}

var _ = nn.RegisterLayer("fused_layer", func(struct{}) *fusedLayer { return &fusedLayer{} }, struct{}{})
