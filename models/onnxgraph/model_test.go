package onnxgraph_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// graph returns a graph from x (n, 2) to y of nodes that are written "op in… > out…".
func graph(nodes ...string) *onnx.Graph {
	g := &onnx.Graph{
		Opsets: map[string]int{"": 17}, Initializers: map[string]onnx.Tensor{},
		Inputs:  []onnx.Value{{Name: "x", Type: "FLOAT", DType: dtype.Float32, Shape: []onnx.Dim{{Size: -1, Name: "n"}, {Size: 2}}}},
		Outputs: []onnx.Value{{Name: "y", Type: "FLOAT", DType: dtype.Float32}},
	}
	for _, text := range nodes {
		g.Nodes = append(g.Nodes, parse(text))
	}
	return g
}

func parse(text string) onnx.Node {
	in, out, _ := strings.Cut(text, " > ")
	words := strings.Fields(in)
	return onnx.Node{Op: words[0], Inputs: words[1:], Outputs: strings.Fields(out), Attributes: map[string]onnx.Attribute{}}
}

// TestDamagedGraphsAreRefused: cycles, values from nowhere or from two nodes, missing operators and old opsets are errors of
// one line.
func TestDamagedGraphsAreRefused(t *testing.T) {
	old := graph("Relu x > y")
	old.Opsets[""] = 6
	recursive := graph("F x > y")
	recursive.Functions = []onnx.Function{{Name: "F", Inputs: []string{"a"}, Outputs: []string{"b"}, Nodes: []onnx.Node{parse("F a > b")}}}
	huge := graph("Add x c > y")
	huge.Initializers["sizes"] = onnx.Tensor{Entry: serialize.Entry{Array: storage.From([]int64{1 << 20, 1 << 20}, 2)}}
	huge.Nodes = append(huge.Nodes, parse("ConstantOfShape sizes > c"))
	for want, g := range map[string]*onnx.Graph{
		"is in a cycle of nodes":                      graph("Add x b > y", "Relu y > a", "Relu a > b"),
		`nothing computes its input "z"`:              graph("Add x z > y"),
		`nothing computes the output "y"`:             graph("Relu x > z"),
		`the value "y" has two sources`:               graph("Relu x > y", "Abs x > y"),
		"the operators Loop (2), If (1), Scan (1); h": graph("Loop x > a", "Loop a > b", "If b > c", "Scan c > d", "Relu d > y"),
		"opset 6 of ONNX":                             old,
		"functions within each other":                 recursive,
		"":                                            huge, // which costs nothing until it is computed
	} {
		_, err := onnxgraph.New(g)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
}

// TestFunctionsAreInlined: their values and attributes are those of the node that names them.
func TestFunctionsAreInlined(t *testing.T) {
	g := graph("Twice x > a", "Twice a > y")
	for i := range g.Nodes {
		g.Nodes[i].Domain = "own"
		g.Nodes[i].Attributes["slope"] = onnx.Attribute{Floats: []float32{0.5}}
	}
	leaky := parse("LeakyRelu in > inner")
	leaky.Attributes["alpha"] = onnx.Attribute{Of: "slope"}
	g.Functions = []onnx.Function{{
		Name: "Twice", Domain: "own", Inputs: []string{"in"}, Outputs: []string{"out"}, Attributes: []string{"slope"},
		Nodes: []onnx.Node{leaky, parse("Add inner inner > out")}, Opsets: map[string]int{"": 17},
	}}
	m, err := onnxgraph.New(g)
	if err != nil {
		t.Fatal(err)
	}
	y := m.Forward(tensor.FromSlice([]float32{-1, 3}, 1, 2))
	if got := tensor.Values[float32](y); got[0] != -1 || got[1] != 12 {
		t.Errorf("%v; want [-1 12]", got)
	}
}

// TestFixedBatchesAreBlocks: a graph of 2 samples computes 5.
func TestFixedBatchesAreBlocks(t *testing.T) {
	g := graph("Reshape x flat > a", "Relu a > b", "Reshape b square > y")
	g.Inputs[0].Shape[0].Size = 2
	g.Initializers["flat"] = onnx.Tensor{Entry: serialize.Entry{Array: storage.From([]int64{4}, 1)}}
	g.Initializers["square"] = onnx.Tensor{Entry: serialize.Entry{Array: storage.From([]int64{2, 2}, 2)}}
	m, err := onnxgraph.New(g)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Arange(dtype.Float32, -4, 6, 1).Reshape(5, 2)
	if y := m.Forward(x); !y.Equal(x.ReLU()) {
		t.Errorf("%v; want %v", y, x.ReLU())
	}
}

// TestViewsDoNotReleaseInputs: an input that the step computed stays after the last use of a view of it.
func TestViewsDoNotReleaseInputs(t *testing.T) {
	m, err := onnxgraph.New(graph("Transpose x > a", "Relu a > b", "Transpose b > c", "Add x c > y"))
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Arange(dtype.Float32, -4, 6, 1).Reshape(5, 2)
	for range 2 { // the second time by the plan that the first has made
		err := tensor.Infer(func(tape *tensor.Tape) error {
			if y, want := m.Forward(tape.Input(x.Array()).MulScalar(2)), x.Add(x.ReLU()).MulScalar(2); !y.Equal(want) {
				t.Errorf("%v; want %v", y, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestModelsAreSafeForConcurrentUse: goroutines with batches of several sizes get their own results.
func TestModelsAreSafeForConcurrentUse(t *testing.T) {
	m, err := open("testdata/small_cnn.onnx")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := arrays("testdata/small_cnn.npz")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	errs := make(chan error, 8)
	for i := range 8 {
		wait.Go(func() {
			for range 20 {
				n := 1 + i%2
				err := tensor.Infer(func(tape *tensor.Tape) error {
					x, want := stored["in_0"], stored["out_0"]
					y := m.Forward(tape.Input(x.With(x.View.Narrow(0, 0, n))))
					return same(y, want.With(want.View.Narrow(0, 0, n)), 1e-5)
				})
				if err != nil {
					select {
					case errs <- err:
					default:
					}
					return
				}
			}
		})
	}
	wait.Wait()
	select {
	case err := <-errs:
		t.Error(err)
	default:
	}
}
