package onnxgraph_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// layersAgree returns an error if the layers that a graph becomes do not compute the arrays out_0, … behind a prefix from in_0, …; ok is
// false for a graph that has no layers.
func layersAgree(g *onnx.Graph, want map[string]storage.Array, prefix string) (ok bool, err error) {
	samples, inputs := map[string][]int{}, []*tensor.Tensor{}
	for i, in := range g.Inputs {
		x := want[fmt.Sprintf("%sin_%d", prefix, i)]
		if len(x.Shape) == 0 || i > 0 && x.Shape[0] != inputs[0].Size(0) { // no samples
			return false, nil
		}
		samples[in.Name], inputs = x.Shape[1:], append(inputs, tensor.FromArray(x))
	}
	layers, err := onnxgraph.ToLayers(g, samples)
	if err != nil {
		return false, err
	}
	if len(layers.Description.(map[string]any)["graph"].(map[string]any)["nodes"].([]any)) == 0 { // of Identity
		return false, nil
	}
	model, err := nn.FromConfig(layers.Description)
	if err != nil {
		return true, err
	}
	if _, err := nn.Build(model, layers.Shapes...); err != nil {
		return true, err
	}
	if err := nn.LoadStateDict(model, maps.All(layers.Weights)); err != nil {
		return true, err
	}
	nn.Eval(model)
	var outputs []*tensor.Tensor
	if err := tensor.Try(func() { outputs = nn.Call("model", model, inputs...) }); err != nil {
		return true, err
	}
	first := 0
	if layers.Label != "" {
		first = 1 // after the label
	}
	for i, y := range outputs {
		i += first
		if err := same(y, want[fmt.Sprintf("%sout_%d", prefix, i)], 1e-5); err != nil {
			return true, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return true, nil
}

// TestLayersComputeWhatOperatorsDo turns the cases of TestOperators into layers, where they have any.
func TestLayersComputeWhatOperatorsDo(t *testing.T) {
	all, err := arrays("testdata/operators.npz")
	if err != nil {
		t.Fatal(err)
	}
	converted := map[string]bool{}
	for name, bytes := range all {
		prefix, ok := strings.CutSuffix(name, "model")
		if !ok {
			continue
		}
		b := tensor.Values[uint8](tensor.FromArray(bytes))
		f, err := serialize.OpenReader(strings.NewReader(string(b)), int64(len(b)), "case.onnx")
		if err != nil {
			t.Fatal(err)
		}
		g, err := f.(onnx.Model).Graph()
		if err != nil {
			t.Fatal(err)
		}
		op, _, _ := strings.Cut(prefix, " ")
		ok, err = layersAgree(g, all, prefix)
		if converted[op] = converted[op] || ok; ok && err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
		f.Close()
	}
	for _, op := range onnxgraph.Operators() {
		if op.Layer && !converted[op.Name] {
			t.Logf("%s has no case that is a layer", op.Name)
		}
	}
	if len(converted) < 40 {
		t.Errorf("cases of %d operators are layers", len(converted))
	}
}

// graphIn returns the graph of a model in testdata.
func graphIn(t *testing.T, name string) *onnx.Graph {
	t.Helper()
	f, err := serialize.Open("testdata/" + name + ".onnx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	g, err := f.(onnx.Model).Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestExportedModelsBecomeLayers turns models that PyTorch exported into layers.
func TestExportedModelsBecomeLayers(t *testing.T) {
	for _, name := range []string{"small_cnn", "small_lstm", "small_states", "small_parts", "small_attention", "small_attention_dynamo", "small_attention_fixed", "small_frames", "small_logistic", "small_mlp"} {
		g := graphIn(t, name)
		want, err := arrays("testdata/" + name + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := layersAgree(g, want, ""); !ok || err != nil {
			t.Errorf("%s: layers %v, %v", name, ok, err)
		}
	}
}

// TestNodesWithoutLayersAreCounted: an ArgMax is the label of a classifier only beside what it is the largest of.
func TestNodesWithoutLayersAreCounted(t *testing.T) {
	for _, c := range []struct {
		nodes  []string
		output string // a second one
		label  bool
	}{
		{[]string{"Relu x > a", "ArgMax a > y"}, "", false},
		{[]string{"Relu x > a", "Softmax a > b", "ArgMax b > y"}, "a", true},
		{[]string{"Relu x > a", "Exp a > b", "ArgMax a > y"}, "b", true},
		{[]string{"Relu x > a", "Exp x > b", "ArgMax a > y"}, "b", false},
	} {
		g := graph(c.nodes...)
		if c.output != "" {
			g.Outputs = append(g.Outputs, onnx.Value{Name: c.output, DType: g.Outputs[0].DType})
		}
		layers, err := onnxgraph.ToLayers(g, map[string][]int{"x": {2}})
		if missing := (*onnxgraph.MissingLayersError)(nil); !c.label && (!errors.As(err, &missing) || missing.Counts["ArgMax"] != 1) {
			t.Errorf("%v: error %v; want one that names ArgMax", c.nodes, err)
		}
		if c.label && (err != nil || layers.Label != "y") {
			t.Errorf("%v: %v; want the label y", c.nodes, err)
		}
	}
}

// TestOneRowOfTwoClasses: ONNX Runtime has 1 − s beside a score s, and the second label where s > 0.
func TestOneRowOfTwoClasses(t *testing.T) {
	g := graph("LinearClassifier x > y")
	g.Nodes[0].Domain, g.Nodes[0].Outputs = "ai.onnx.ml", []string{"label", "y"}
	g.Nodes[0].Attributes = map[string]onnx.Attribute{
		"coefficients": {Floats: []float32{0.5, -1}}, "intercepts": {Floats: []float32{0.25}}, "classlabels_ints": {Ints: []int64{3, 8}},
	}
	g.Outputs = append(g.Outputs, onnx.Value{Name: "label", DType: dtype.Int64})
	m, err := onnxgraph.New(g)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.FromSlice([]float32{0, 0, 0, 1}, 2, 2)
	outputs := m.ForwardAll([]*tensor.Tensor{x})
	want := storage.From([]float32{0.75, 0.25, 1.75, -0.75}, 2, 2)
	if err := same(outputs[0], want, 1e-6); err != nil {
		t.Error(err)
	}
	if err := same(outputs[1], storage.From([]int64{8, 3}, 2), 0); err != nil {
		t.Error(err)
	}
	if ok, err := layersAgree(g, map[string]storage.Array{"in_0": x.Array(), "out_1": want}, ""); !ok || err != nil {
		t.Errorf("layers %v, %v", ok, err)
	}
}

// TestLayersOfAttentionAreTrained: the weights of a model with attention have gradients; its masks are no weights.
func TestLayersOfAttentionAreTrained(t *testing.T) {
	g := graphIn(t, "small_attention_dynamo")
	layers, err := onnxgraph.ToLayers(g, map[string][]int{g.Inputs[0].Name: {6}})
	if err != nil {
		t.Fatal(err)
	}
	model, err := nn.FromConfig(layers.Description)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nn.Build(model, layers.Shapes...); err != nil {
		t.Fatal(err)
	}
	if err := nn.LoadStateDict(model, maps.All(layers.Weights)); err != nil {
		t.Fatal(err)
	}
	grads := tensor.Gradients(nn.Call("model", model, tensor.FromSlice([]int64{1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 1, 0}, 2, 6))[0].Square().Sum())
	count := 0
	for name, p := range nn.Parameters(model) {
		if count++; grads[p.Tensor] == nil || !(tensor.Values[float32](grads[p.Tensor].Abs().Max())[0] < 1e3) {
			t.Errorf("%s has no gradient, or one that is not finite", name)
		}
	}
	if want := 27; count != want {
		t.Errorf("%d parameters; want %d", count, want)
	}
}

// TestArithmeticOfActivationsBecomesOneLayer: GELU and SiLU as exporters of opsets without them write them. A Swish with another slope is no SiLU.
func TestArithmeticOfActivationsBecomesOneLayer(t *testing.T) {
	number := func(x float32) onnx.Tensor {
		return onnx.Tensor{Entry: serialize.Entry{Array: storage.From([]float32{x})}}
	}
	gelu := graph("Div x root > a", "Erf a > b", "Add b one > c", "Mul x c > d", "Mul d half > y")
	for name, x := range map[string]float32{"root": math.Sqrt2, "one": 1, "half": 0.5} {
		gelu.Initializers[name] = number(x)
	}
	sloped := graph("Swish x > y")
	sloped.Nodes[0].Attributes["alpha"] = onnx.Attribute{Floats: []float32{2}}
	joined := graph("Concat x > a", "Sigmoid a > b", "Mul a b > y") // of one input: nothing
	joined.Nodes[0].Attributes["axis"] = onnx.Attribute{Ints: []int64{1}}
	for _, c := range []struct {
		want string
		*onnx.Graph
	}{{"map[gelu:map[approximate:none]]", gelu}, {"map[silu:map[]]", graph("Sigmoid x > a", "Mul x a > y")}, {"map[silu:map[]]", joined}, {"Swish (1)", sloped}} {
		got := ""
		if layers, err := onnxgraph.ToLayers(c.Graph, map[string][]int{"x": {2}}); err != nil {
			got = err.Error()
		} else if nodes := layers.Description.(map[string]any)["graph"].(map[string]any)["nodes"].([]any); len(nodes) == 1 {
			got = fmt.Sprint(nodes[0].(map[string]any)["layer"])
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("layers %q; want %s", got, c.want)
		}
	}
}

// TestSlicesBackwardsFlip: the backward direction of a recurrent layer, as Keras exports it, takes the steps in the other order.
func TestSlicesBackwardsFlip(t *testing.T) {
	for start, want := range map[int64]string{-1: "map[function:map[name:flip settings:map[dims:[1]]]]", -2: "Slice (1)"} {
		g := graph("Slice x start end axis step > y")
		for name, n := range map[string]int64{"start": start, "end": -1 << 40, "axis": 1, "step": -1} {
			g.Initializers[name] = onnx.Tensor{Entry: serialize.Entry{Array: storage.From([]int64{n}, 1)}}
		}
		layers, err := onnxgraph.ToLayers(g, map[string][]int{"x": {4, 3}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(layers.Description)
		}
		if !strings.Contains(got, want) {
			t.Errorf("from %d: %s; want %s", start, got, want)
		}
	}
}
