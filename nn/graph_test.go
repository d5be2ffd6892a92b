package nn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// fromYAML builds the model that a YAML text describes.
func fromYAML(t testing.TB, text string) nn.Module {
	t.Helper()
	doc, err := config.ParseYAML([]byte("model:\n" + strings.ReplaceAll(text, "\n", "\n  ")))
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Model nn.Submodule `json:"model"`
	}
	if err := doc.Decode(&settings); err != nil {
		t.Fatal(doc.Locate(err))
	}
	return settings.Model.Module
}

// resnetYAML is a small ResNet: two residual blocks, the second with a projection.
const resnetYAML = `
graph:
  nodes:
    - {name: stem, layer: [{conv2d: {out_channels: 4, kernel_size: 3, padding: 1, bias: false}}, {batchnorm2d: 4}, relu]}
    - name: block1
      layer:
        - {conv2d: {out_channels: 4, kernel_size: 3, padding: 1, bias: false}}
        - {batchnorm2d: 4}
        - relu
        - {conv2d: {out_channels: 4, kernel_size: 3, padding: 1, bias: false}}
        - {batchnorm2d: 4}
    - {name: sum1, layer: add, from: [stem, block1]}
    - {name: relu1, layer: relu}
    - name: block2
      layer:
        - {conv2d: {out_channels: 8, kernel_size: 3, stride: 2, padding: 1, bias: false}}
        - {batchnorm2d: 8}
    - {name: project, layer: {conv2d: {out_channels: 8, kernel_size: 1, stride: 2, bias: false}}, from: relu1}
    - {name: sum2, layer: add, from: [block2, project]}
    - {name: head, layer: [relu, globalavgpool2d, flatten, {dense: 3}]}
`

func conv3(out, stride int) *nn.Conv2d {
	return nn.NewConv2d(nn.ConvOptions{OutChannels: out, KernelSize: nn.Sizes{3}, Stride: nn.Sizes{stride}, Padding: nn.Sizes{1}, NoBias: true})
}

func norm2(n int) *nn.BatchNorm2d { return nn.NewBatchNorm2d(nn.BatchNormOptions{NumFeatures: n}) }

func resnet() *nn.Graph {
	return nn.NewGraph(nn.GraphOptions{Nodes: nn.Nodes{
		{Name: "stem", Module: nn.Sequential{conv3(4, 1), norm2(4), nn.ReLU{}}},
		{Name: "block1", Module: nn.Sequential{conv3(4, 1), norm2(4), nn.ReLU{}, conv3(4, 1), norm2(4)}},
		{Name: "sum1", Module: nn.Add{}, From: nn.Names{"stem", "block1"}},
		{Name: "relu1", Module: nn.ReLU{}},
		{Name: "block2", Module: nn.Sequential{conv3(8, 2), norm2(8)}},
		{Name: "project", Module: nn.NewConv2d(nn.ConvOptions{OutChannels: 8, KernelSize: nn.Sizes{1}, Stride: nn.Sizes{2}, NoBias: true}), From: nn.Names{"relu1"}},
		{Name: "sum2", Module: nn.Add{}, From: nn.Names{"block2", "project"}},
		{Name: "head", Module: nn.Sequential{nn.ReLU{}, nn.GlobalAvgPool2d{}, nn.Flatten{}, nn.NewDense(nn.DenseOptions{OutFeatures: 3})}},
	}})
}

// TestResNetInYAMLAndGo builds one network in both ways, and computes its output by
// its layers as well.
func TestResNetInYAMLAndGo(t *testing.T) {
	x := filled(0, 2, 3, 8, 8)
	tensor.FillNormal(x, 0, 1, tensor.Key{Seed: 3})
	var outputs [2][]float32
	var descriptions [2]string
	for i, m := range []nn.Module{fromYAML(t, resnetYAML), resnet()} {
		nn.Init(m, 1)
		shapes, err := nn.Build(m, []int{3, 8, 8})
		if err != nil {
			t.Fatal(err)
		}
		if want := [][]int{{3}}; !slices.EqualFunc(shapes, want, slices.Equal) {
			t.Errorf("outputs %v, want %v", shapes, want)
		}
		for range 2 {
			step(t, m, nn.NewSGD(nn.SGDOptions{LearningRate: 0.1}), x, storage.From([]int64{0, 2}, 2))
		}
		nn.Eval(m)
		outputs[i] = slices.Clone(tensor.Values[float32](m.Forward(tensor.FromArray(x))))
		description, err := nn.Describe(m)
		if err != nil {
			t.Fatal(err)
		}
		descriptions[i] = canonical(t, description)
		for _, name := range []string{"stem.0.weight", "stem.1.gamma", "block1.3.weight", "project.weight", "head.3.bias"} {
			if !slices.Contains(names(m), name) {
				t.Errorf("no parameter %s among %v", name, names(m))
			}
		}
		again, err := nn.FromConfig(description)
		if err != nil {
			t.Fatal(err)
		}
		if err := nn.LoadStateDict(again, nn.StateDict(m)); err != nil {
			t.Fatal(err)
		}
		nn.Eval(again)
		if got := tensor.Values[float32](again.Forward(tensor.FromArray(x))); !slices.Equal(got, outputs[i]) {
			t.Errorf("rebuilt and loaded: %v, want %v", got, outputs[i])
		}
		g := m.(*nn.Graph)
		stem := g.Module("stem").Forward(tensor.FromArray(x))
		relu1 := stem.Add(g.Module("block1").Forward(stem)).ReLU()
		y := g.Module("head").Forward(g.Module("block2").Forward(relu1).Add(g.Module("project").Forward(relu1)))
		if got := tensor.Values[float32](y); !slices.Equal(got, outputs[i]) {
			t.Errorf("by its layers: %v, want %v", got, outputs[i])
		}
	}
	if !slices.Equal(outputs[0], outputs[1]) || descriptions[0] != descriptions[1] {
		t.Errorf("YAML: %v of %s\nGo: %v of %s", outputs[0], descriptions[0], outputs[1], descriptions[1])
	}
}

// TestTwoInputModelInYAML has an image and a table, listed out of order, and two
// outputs.
func TestTwoInputModelInYAML(t *testing.T) {
	m := fromYAML(t, `
graph:
  inputs: [image, table]
  nodes:
    - {name: both, layer: concat, from: [pixels, table]}
    - {name: class, layer: {dense: 3}, from: both}
    - {name: pixels, layer: [flatten, {dense: 4}], from: image}
    - {name: size, layer: {dense: 1}, from: both}
  outputs: [class, size]
  output_names: [kind, length]
`)
	if got := m.(*nn.Graph).OutputNames(); !slices.Equal(got, []string{"kind", "length"}) {
		t.Errorf("output names %v", got)
	}
	shapes, err := nn.Build(m, []int{1, 2, 2}, []int{5})
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]int{{3}, {1}}; !slices.EqualFunc(shapes, want, slices.Equal) {
		t.Errorf("outputs %v, want %v", shapes, want)
	}
	if got, want := m.(nn.NamedInputs).InputNames(), []string{"image", "table"}; !slices.Equal(got, want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	image, table := filled(0.5, 2, 1, 2, 2), filled(0.25, 2, 5)
	err = tensor.Step(func(tape *tensor.Tape) error {
		out := nn.Call("", m, tape.Input(image), tape.Input(table))
		loss := tensor.CrossEntropy(out[0], tensor.FromSlice([]int64{0, 1}, 2)).Add(out[1].Mul(out[1]).Mean())
		grads := tensor.Gradients(loss)
		for name, p := range nn.Parameters(m) {
			if grads[p.Tensor] == nil {
				t.Errorf("no gradient reaches %s", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := nn.Summarize(m, []int{1, 2, 2}, []int{5})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range summary.Rows {
		rows = append(rows, fmt.Sprint(r.Name, " ", r.Kind, r.Output, r.Params))
	}
	want := []string{"pixels.0 flatten[4] 0", "pixels.1 dense[4] 20", "both concat[9] 0", "class dense[3] 30", "size dense[1] 10"}
	if !slices.Equal(rows, want) || summary.Params != 60 {
		t.Errorf("summary %q of %d parameters\nwant %q of 60", rows, summary.Params, want)
	}
	if err := tensor.Try(func() { nn.Call("", m, tensor.FromArray(image)) }); err == nil || !strings.Contains(err.Error(), "1 inputs; want [image table]") {
		t.Errorf("one input: error %v", err)
	}
}

func TestResidualIsBodyAndShortcut(t *testing.T) {
	m := fromJSON(t, `[{"residual": {"body": [{"dense": 2}, "relu"]}}, {"residual": {"body": {"dense": 3}, "shortcut": {"dense": {"out_features": 3, "bias": false}}}}]`)
	summary, err := nn.Summarize(m, []int{2})
	if err != nil {
		t.Fatal(err)
	}
	if summary.Params != 6+9+6 || len(summary.Rows) != 4 || summary.Rows[3].Name != "1.body" {
		t.Errorf("summary\n%v", summary)
	}
	want := []string{"0.body.0.weight", "0.body.0.bias", "1.body.weight", "1.body.bias", "1.shortcut.weight"}
	if got := names(m); !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
	x := tensor.FromArray(filled(1, 2, 2))
	r := m.(nn.Sequential)[0].(*nn.Residual)
	got, sum := tensor.Values[float32](r.Forward(x)), tensor.Values[float32](r.Body.Forward(x).Add(x))
	if !slices.Equal(got, sum) {
		t.Errorf("%v, want %v", got, sum)
	}
	if err := tensor.Try(func() { r.Forward(tensor.FromArray(filled(1, 2, 3))) }); err == nil || err.Error() != "body: layer 0: dense: input [2 3] for weight [2 2]; want 2 along axis 1" {
		t.Errorf("error %q does not name the module", err)
	}
}

func TestGraphMistakesAreNamed(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`"graph"`, "graph: no nodes"},
		{`{"graph": {"nodes": [{"name": "a", "layer": "relu", "from": "b"}, {"name": "b", "layer": "relu"}]}}`, "graph: the inputs of a depend on its own output"},
		{`{"graph": {"nodes": [{"name": "stem", "layer": "relu", "from": "y"}]}}`, "graph: y: no such node or input; known are stem, x"},
		{`{"graph": {"nodes": [{"name": "stem", "layer": "relu"}], "outputs": "stm"}}`, "graph: stm: no such node or input; did you mean stem?"},
		{`{"graph": {"nodes": [{"name": "a", "layer": "relu"}], "output_names": ["y", "z"]}}`, "graph: 2 names of 1 outputs"},
		{`{"graph": {"nodes": [{"name": "x", "layer": "relu"}]}}`, `graph: two nodes or inputs are named "x"`},
		{`{"graph": {"nodes": [{"name": "a.b", "layer": "relu"}]}}`, `graph: name "a.b"`},
		{`{"graph": {"nodes": [{"name": "a"}]}}`, `graph: node 0 ("a") has no layer`},
		{`{"graph": {"nodes": [{"name": "a", "layer": {"dnse": 3}}]}}`, `graph: nodes: node 0: layer: dnse: no such layer; did you mean dense?`},
		{`{"graph": {"nodes": [{"name": "a", "layer": "relu", "form": "x"}]}}`, `graph: nodes: node 0: form: no such setting; did you mean from?`},
		{`{"residual": {"shortcut": "relu"}}`, "residual: no body"},
	} {
		_, err := nn.FromConfig(json.RawMessage(c.config))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, nn.ErrConfig) {
			t.Errorf("%s: error %v, want %q", c.config, err, c.want)
		}
	}
}

// splitter returns the halves of its input.
type splitter struct{}

func (s splitter) Forward(x *tensor.Tensor) *tensor.Tensor { return nn.ForwardOne(s, x) }

func (splitter) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	x := inputs[0]
	half := x.Shape()[1] / 2
	return []*tensor.Tensor{x.Slice(1, 0, half, 1), x.Slice(1, half, 2*half, 1)}
}

func TestNodesMayHaveSeveralOutputs(t *testing.T) {
	g := nn.NewGraph(nn.GraphOptions{Nodes: nn.Nodes{
		{Name: "split", Module: splitter{}},
		{Name: "product", Module: nn.Multiply{}, From: nn.Names{"split.1", "split.0"}},
	}})
	x := tensor.FromSlice([]float32{1, 2, 3, 4}, 1, 4)
	if got, want := tensor.Values[float32](g.Forward(x)), []float32{3, 8}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	single := nn.NewGraph(nn.GraphOptions{Nodes: nn.Nodes{{Name: "split", Module: splitter{}}, {Name: "relu", Module: nn.ReLU{}}}})
	if err := tensor.Try(func() { single.Forward(x) }); err == nil || !strings.Contains(err.Error(), "split: 2 outputs; want one") {
		t.Errorf("error %v, want one that names split", err)
	}
}

// TestObserversSeeEveryCall also of calls within calls, and can end them.
func TestObserversSeeEveryCall(t *testing.T) {
	m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}), nn.ReLU{}, nn.NewResidual(nn.ResidualOptions{Body: nn.Submodule{Module: nn.Tanh{}}})}
	x := filled(1, 1, 2)
	var seen []string
	err := tensor.Infer(func(tape *tensor.Tape) error {
		stop := nn.Observe(tape, func(c nn.CallInfo) error {
			seen = append(seen, fmt.Sprintf("%s %T %v", c.Name, c.Module, c.Leaf))
			return nil
		})
		m.Forward(tape.Input(x))
		m.Forward(tensor.FromArray(x)) // of no step
		stop()
		m.Forward(tape.Input(x))
		return nil
	})
	want := []string{"0 *nn.Linear true", "1 nn.ReLU true", "2.body nn.Tanh true", "2 *nn.Residual false"}
	if err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, %v; want %q", seen, err, want)
	}
	err = tensor.Infer(func(tape *tensor.Tape) error {
		defer nn.Observe(tape, nn.CheckFinite)()
		m[0].(*nn.Linear).Bias.Detach().Fill(1e38)
		big := filled(1e38, 1, 2)
		m[0].(*nn.Linear).Weight.Detach().Fill(1e38)
		m.Forward(tape.Input(big))
		return nil
	})
	if err == nil || err.Error() != "layer 0: linear: an output has elements that are not finite" {
		t.Errorf("error %v, want one that names layer 0", err)
	}
}

func TestSpatialAxesAreThoseOfTheFirstLayer(t *testing.T) {
	for want, m := range map[int]nn.Module{
		0: fromJSON(t, `["relu", {"conv2d": {"out_channels": 1, "kernel_size": 1}}]`),
		1: fromJSON(t, `{"residual": {"body": [{"maxpool1d": 2}]}}`),
		2: resnet(),
		3: fromJSON(t, `[[{"conv3d": {"out_channels": 1, "kernel_size": 1}}]]`),
	} {
		if got := nn.SpatialAxes(m, ""); got != want {
			t.Errorf("%v spatial axes, want %d", got, want)
		}
	}
	two := fromJSON(t, `{"graph": {"inputs": ["table", "image"], "nodes": [{"name": "a", "layer": [{"maxpool2d": 2}, "flatten"], "from": "image"}, {"name": "b", "layer": "concat", "from": ["a", "table"]}]}}`)
	if table, image := nn.SpatialAxes(two, "table"), nn.SpatialAxes(two, "image"); table != 0 || image != 2 {
		t.Errorf("%d spatial axes of the table and %d of the image, want 0 and 2", table, image)
	}
}

// halves is a module of two outputs: the first and the second half of its features.
type halves struct{}

func (halves) Forward(x *tensor.Tensor) *tensor.Tensor { return nn.ForwardOne(halves{}, x) }

func (halves) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	x := inputs[0]
	n := x.Shape()[1] / 2
	return []*tensor.Tensor{x.Slice(1, 0, n, 1), x.Slice(1, n, 2*n, 1)}
}

// TestGraphOutputsAreInOrder, as its settings name them, those of modules with several too.
func TestGraphOutputsAreInOrder(t *testing.T) {
	x := storage.From([]float32{1, 2, 3, 4}, 1, 4)
	for outputs, want := range map[string]string{
		"split.0 split.1": "[1 2] [3 4]", "split.1 split.0": "[3 4] [1 2]",
		"sum split.1": "[4 6] [3 4]", "x sum": "[1 2 3 4] [4 6]",
	} {
		g := nn.NewGraph(nn.GraphOptions{Outputs: strings.Fields(outputs), Nodes: nn.Nodes{
			{Name: "split", Module: halves{}}, {Name: "sum", Module: nn.Add{}, From: nn.Names{"split.1", "split.0"}},
		}})
		var got []string
		err := tensor.Infer(func(tape *tensor.Tape) error {
			for _, y := range g.ForwardAll([]*tensor.Tensor{tape.Input(x)}) {
				got = append(got, fmt.Sprint(tensor.Values[float32](y)))
			}
			return nil
		})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("outputs %s are %v (%v), want %s", outputs, got, err, want)
		}
	}
}

// TestNodesShareParameters holds a graph that applies one layer twice: it has one set of
// parameters, and its description says so.
func TestNodesShareParameters(t *testing.T) {
	description := `{"graph": {"nodes": [
		{"name": "a", "layer": {"dense": {"out_features": 3, "in_features": 3}}},
		{"name": "b", "share": "a"}]}}`
	m, err := nn.FromConfig(json.RawMessage(description))
	if err != nil {
		t.Fatal(err)
	}
	again, err := nn.Describe(m)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = nn.FromConfig(again); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range nn.Parameters(m) {
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"a.weight", "a.bias"}) {
		t.Errorf("parameters %v; want those of a alone", names)
	}
	x := tensor.Ones(dtype.Float32, 2, 3)
	first := m.(*nn.Graph).Nodes[0].Module
	want := first.Forward(first.Forward(x))
	if got := m.Forward(x); !slices.Equal(tensor.Values[float32](got), tensor.Values[float32](want)) {
		t.Errorf("%v; want %v", tensor.Values[float32](got), tensor.Values[float32](want))
	}
	for _, wrong := range []string{
		`{"graph": {"nodes": [{"name": "a", "layer": "relu"}, {"name": "b", "share": "c"}]}}`,
		`{"graph": {"nodes": [{"name": "a", "layer": "relu"}, {"name": "b", "share": "a", "layer": "tanh"}]}}`,
	} {
		if _, err := nn.FromConfig(json.RawMessage(wrong)); err == nil || !strings.Contains(err.Error(), "node 1") {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
}

// TestIntegersReachEmbeddings through layers that copy elements, beside others that compute with the same input.
func TestIntegersReachEmbeddings(t *testing.T) {
	for description, want := range map[string]dtype.Type{
		`[{"slice": {"start": 0, "stop": 2}}, "flatten", {"embedding": {"num_embeddings": 4, "embedding_dim": 2}}]`: dtype.Int64,
		`{"time_distributed": {"layer": {"embedding": {"num_embeddings": 4, "embedding_dim": 2}}}}`:                 dtype.Int64,
		`[{"cast": {"dtype": "int64"}}, {"embedding": {"num_embeddings": 4, "embedding_dim": 2}}]`:                  dtype.Invalid,
		`["relu", {"embedding": {"num_embeddings": 4, "embedding_dim": 2}}]`:                                        dtype.Invalid,
		`{"graph": {"nodes": [{"name": "f", "layer": {"cast": {"dtype": "float32"}}, "from": "x"}, {"name": "n", "layer": {"function": {"name": "mean", "settings": {"dim": 1, "keepdim": true}}}},
			{"name": "k", "layer": {"select": 1}, "from": "x"}, {"name": "e", "layer": {"embedding": {"num_embeddings": 4, "embedding_dim": 2}}}, {"name": "y", "layer": "concat", "from": ["n", "e"]}]}}`: dtype.Int64,
	} {
		m := fromJSON(t, description)
		if got := nn.InputOf(m, "x").Type; got != want {
			t.Errorf("%s takes %v; want %v", description, got, want)
		}
		if _, err := nn.Build(m, []int{3, 5}[:map[bool]int{true: 2, false: 1}[strings.Contains(description, "time")]]); want == dtype.Int64 && err != nil {
			t.Errorf("%s: %v", description, err)
		}
	}
}

// TestFailuresNameALayerOnce though its node has the name of its kind.
func TestFailuresNameALayerOnce(t *testing.T) {
	g := fromJSON(t, `{"graph": {"nodes": [{"name": "embedding", "layer": {"embedding": {"num_embeddings": 4, "embedding_dim": 2}}, "from": "x"}]}}`)
	err := tensor.Try(func() { nn.Call("", g, tensor.New([][]float32{{1}})) })
	if err == nil || err.Error() != "embedding: inputs of float32; want integers that count rows, such as of cast: int64" {
		t.Error(err)
	}
}
