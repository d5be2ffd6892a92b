package keras_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ours are models of package nn and the shapes of samples.
var ours = map[string]struct {
	description string
	shapes      [][]int
}{
	"lenet": {`[{"conv2d": {"out_channels": 6, "kernel_size": 5, "padding": 2}}, "relu", {"maxpool2d": {"kernel_size": 2}},
		{"conv2d": {"out_channels": 8, "kernel_size": 3, "stride": 2, "padding": 1}}, "silu", "flatten", {"dense": 10}, "softmax"]`, [][]int{{3, 12, 10}}},
	"mlp": {`["flatten", {"dense": 8}, "gelu", {"batchnorm1d": {"num_features": 8}}, {"dense": {"out_features": 6, "bias": false}}, "tanh",
		{"layernorm": {"normalized_shape": 6}}, {"dropout": 0.3}, {"linear": {"in_features": 6, "out_features": 3}}]`, [][]int{{7}}},
	"depthwise": {`[{"conv2d": {"out_channels": 6, "kernel_size": 3, "in_channels": 3, "groups": 3, "stride": 2, "padding": 1, "padding_after": 0}},
		{"batchnorm2d": {"num_features": 6}}, {"hardtanh": {"min": 0, "max": 6}}, {"avgpool2d": {"kernel_size": 3, "stride": 2, "padding": 1}},
		{"conv_transpose2d": {"out_channels": 4, "kernel_size": 3, "stride": 2, "padding": 1, "output_padding": 1}}, "globalavgpool2d", "flatten"]`, [][]int{{3, 11, 9}}},
	"signal": {`[{"conv1d": {"out_channels": 4, "kernel_size": 3, "dilation": 2, "padding": 2}}, {"leaky_relu": 0.2}, {"maxpool1d": {"kernel_size": 2}},
		{"conv_transpose1d": {"out_channels": 3, "kernel_size": 2, "stride": 3}}, {"elu": 0.5}, "flatten", {"dense": 2}]`, [][]int{{2, 14}}},
	"steps":    {`[{"conv1d": {"out_channels": 4, "kernel_size": 1}}, {"permute": {"axes": [2, 1]}}, "flatten", {"dense": 3}]`, [][]int{{2, 5}}},
	"channels": {`[{"batchnorm1d": {"num_features": 2}}, "flatten", {"dense": 3}]`, [][]int{{2, 5}}},
	"volume": {`[{"conv3d": {"out_channels": 3, "kernel_size": 2}}, "softplus", {"zeropad": {"before": [1, 0, 1]}}, {"upsample": {"scale": [1, 2, 1]}},
		{"crop": {"before": [0, 1, 0]}}, "flatten", {"dense": 2}]`, [][]int{{2, 4, 5, 4}}},
	"resnet": {`[{"conv2d": {"out_channels": 4, "kernel_size": 3, "padding": 1, "bias": false}}, {"residual": {"body": [{"conv2d": {"out_channels": 4, "kernel_size": 3, "padding": 1}}, "relu"]}},
		{"residual": {"body": [{"conv2d": {"out_channels": 6, "kernel_size": 3, "padding": 1}}], "shortcut": {"conv2d": {"out_channels": 6, "kernel_size": 1}}}}, "globalmaxpool2d", "flatten", {"dense": 3}]`, [][]int{{2, 6, 6}}},
	"tokens": {`[{"embedding": {"num_embeddings": 9, "embedding_dim": 4, "padding_idx": 0}}, {"permute": [2, 1]}, {"conv1d": {"out_channels": 3, "kernel_size": 3, "padding": 1}}, "relu",
		"globalmaxpool1d", "flatten", {"dense": 2}]`, [][]int{{7}}},
	"dense steps": {`[{"embedding": {"num_embeddings": 9, "embedding_dim": 4}}, {"dense": 3}, "relu", {"permute": [2, 1]}, "globalmaxpool1d", "flatten", {"dense": 2}]`, [][]int{{7}}},
	"forecaster": {`[{"rescale": {"scale": 0.5}}, {"lstm": {"hidden_size": 3, "return_sequences": true, "bidirectional": true}}, {"gru": {"hidden_size": 4, "return_sequences": true, "go_backwards": true}},
		{"rnn": {"hidden_size": 3, "return_sequences": true, "nonlinearity": "relu", "bias": false}}, {"slice": {"start": 1, "axis": 2}}, {"select": {"index": -1}}, {"dense": 2}]`, [][]int{{5, 4}}},
	"last step": {`[{"gru": {"hidden_size": 4, "reset_after": false}}, {"dense": 3}, "log_softmax"]`, [][]int{{5, 4}}},
	"both ends": {`[{"lstm": {"hidden_size": 3, "bidirectional": true, "merge_mode": "sum"}}, "tanhshrink"]`, [][]int{{5, 4}}},
	"groups": {`[{"conv2d": {"out_channels": 6, "kernel_size": 3}}, {"groupnorm": {"num_groups": 2, "num_channels": 6}}, "hardswish", {"instancenorm": {"num_features": 6, "affine": true}}, {"prelu": {"num_parameters": 6}},
		{"slice": {"stop": 4}}, {"adaptive_avg_pool": {"output_size": [1, 1]}}, "hardsigmoid", "flatten", {"dense": 2}]`, [][]int{{2, 7, 6}}},
	"decoder": {`[{"dense": 24}, {"reshape": {"shape": [4, 3, 2]}}, {"conv_transpose2d": {"out_channels": 3, "kernel_size": 2, "stride": 2}}, {"upsample": {"scale": [1, 2]}}, {"layernorm": {"normalized_shape": [3, 6, 8]}},
		{"reshape": {"shape": [6, 24]}}, {"select": {"index": 1, "axis": 2}}]`, [][]int{{3}}},
	"repeated": {`[{"dense": 6}, {"reshape": {"shape": [6, 1]}}, {"upsample": {"scale": [4]}}, {"permute": [2, 1]}, {"lstm": {"hidden_size": 3}}]`, [][]int{{5}}},
	"mixed":    {`[{"residual": {"body": [{"conv1d": {"out_channels": 4, "kernel_size": 3, "padding": 1}}], "shortcut": [{"dense": 5}]}}]`, [][]int{{4, 5}}},
	"stem":     {`[{"conv2d": {"out_channels": 3, "kernel_size": 3}}, "relu", {"maxpool2d": {"kernel_size": 3, "stride": 2, "padding": 1}}, {"layernorm": {"normalized_shape": [3, 2, 3]}}]`, [][]int{{2, 6, 7}}},
	"flat":     {`[{"conv2d": {"out_channels": 2, "kernel_size": 3}}, "relu", "flatten", {"batchnorm1d": {"num_features": 24}}]`, [][]int{{2, 5, 6}}},
	"flat mix": {`[{"residual": {"body": [{"conv1d": {"out_channels": 2, "kernel_size": 3}}, "flatten"], "shortcut": ["flatten", {"dense": 8}]}}, {"dense": 3}]`, [][]int{{2, 6}}},
	"scaled":   {`[{"rescale": {"scale": 0.5}}, {"permute": [3, 1, 2]}, {"conv2d": {"out_channels": 2, "kernel_size": 3}}]`, [][]int{{5, 6, 2}}},
	"tokens in words": {`{"graph": {"inputs": ["x"], "nodes": [
		{"name": "self", "layer": {"multihead_attention": {"embed_dim": 6, "num_heads": 2, "causal": true}}, "from": "x"}, {"name": "sum", "layer": "add", "from": ["x", "self"]},
		{"name": "wide", "layer": {"dense": 8}}, {"name": "act", "layer": {"gelu": {"approximate": "tanh"}}},
		{"name": "cross", "layer": {"multihead_attention": {"embed_dim": 8, "num_heads": 2, "kdim": 6, "vdim": 6, "head_dim": 3, "value_dim": 5, "out_features": 4, "bias": false}}, "from": ["act", "sum"]},
		{"name": "dot", "layer": {"attention": {"use_scale": true}}, "from": ["cross", "cross"]}, {"name": "own", "layer": {"attention": {"score": "additive", "use_scale": true, "features": 4}}, "from": ["dot", "cross"]},
		{"name": "mean", "layer": {"function": {"name": "mean", "settings": {"dim": 1}}}}]}}`, [][]int{{5, 6}}},
	"arithmetic": {`{"graph": {"inputs": ["x"], "nodes": [
		{"name": "conv", "layer": {"conv2d": {"out_channels": 3, "kernel_size": 2}}, "from": "x"}, {"name": "low", "layer": {"hardtanh": {"min": -2, "max": 1}}},
		{"name": "gain", "layer": {"constant": {"values": [2, 3, 4], "shape": [3, 1, 1]}}, "from": "conv"}, {"name": "scaled", "layer": {"function": {"name": "mul"}}, "from": ["gain", "low"]},
		{"name": "rest", "layer": {"function": {"name": "sub"}}, "from": ["gain", "scaled"]}, {"name": "power", "layer": {"function": {"name": "pow", "settings": {"exponent": 2}}}},
		{"name": "std", "layer": {"function": {"name": "std", "settings": {"dim": [1], "keepdim": true, "correction": 0}}}, "from": "conv"}, {"name": "eps", "layer": {"function": {"name": "clamp", "settings": {"min": 1}}}},
		{"name": "quotient", "layer": {"function": {"name": "div"}}, "from": ["power", "eps"]}, {"name": "root", "layer": {"function": {"name": "sqrt"}}},
		{"name": "pooled", "layer": {"function": {"name": "mean", "settings": {"dim": [2, 3]}}}, "from": "root"}, {"name": "rows", "layer": {"function": {"name": "amax", "settings": {"dim": [2]}}}, "from": "root"},
		{"name": "columns", "layer": {"function": {"name": "sum", "settings": {"dim": -3}}}, "from": "root"}, {"name": "product", "layer": {"function": {"name": "matmul"}}, "from": ["columns", "rows"]}, {"name": "small", "layer": {"rescale": {"scale": 0.01}}}], "outputs": ["pooled", "small"]}}`, [][]int{{2, 5, 4}}},
	"graph": {`{"graph": {"inputs": ["image", "features"], "nodes": [
		{"name": "stem", "layer": {"conv2d": {"out_channels": 3, "kernel_size": 3}}, "from": "image"}, {"name": "flat", "layer": "flatten"},
		{"name": "hidden", "layer": {"dense": {"out_features": 4, "in_features": 4}}, "from": "features"}, {"name": "again", "share": "hidden"},
		{"name": "all", "layer": "concat", "from": ["flat", "again"]}, {"name": "first", "layer": {"dense": 2}}, {"name": "second", "layer": {"dense": 3}, "from": "all"}],
		"outputs": ["first", "second"]}}`, [][]int{{2, 6, 5}, {4}}},
	"image in words": {`[{"pad": {"before": [1, 0], "after": [0, 2]}}, {"conv2d": {"out_channels": 4, "kernel_size": 2, "stride": 2}}, {"reshape": {"shape": [4, 9]}}, {"permute": {"axes": [2, 1]}},
		{"class_token": {"embedding_dim": 4}}, {"positions": {"max_len": 12, "embedding_dim": 4}}, {"multihead_attention": {"embed_dim": 4, "num_heads": 2}}, {"dense": 2}]`, [][]int{{2, 5, 4}}},
	"whole":    {`[{"rescale": {"scale": 10}}, {"cast": {"dtype": "int64"}}, {"cast": {"dtype": "float32"}}, {"dense": 2}]`, [][]int{{4}}},
	"parallel": {parallel, [][]int{{3, 4}}},
}

// parallel has dense layers of one shape side by side, which functions join.
const parallel = `{"graph": {"inputs": ["x"], "nodes": [{"name": "q", "layer": {"linear": {"in_features": 4, "out_features": 4}}, "from": "x"}, {"name": "k", "layer": {"linear": {"in_features": 4, "out_features": 4}}, "from": "x"}, {"name": "turned", "layer": {"permute": {"axes": [2, 1]}}},
		{"name": "scores", "layer": {"function": {"name": "matmul"}}, "from": ["q", "turned"]}, {"name": "weights", "layer": {"softmax": {"axis": -1}}}, {"name": "v", "layer": {"linear": {"in_features": 4, "out_features": 4}}, "from": "x"},
		{"name": "negative", "layer": {"function": {"name": "neg"}}}, {"name": "y", "layer": {"function": {"name": "matmul"}}, "from": ["weights", "negative"]}]}}`

// TestOperandsOfFunctionsOrderLayers: Keras finds weights by the order of layers of a class: the order of their longest ways to an output. Operands of
// functions are on the way, too.
func TestOperandsOfFunctionsOrderLayers(t *testing.T) {
	m, _, err := keras.FromH5dnn(json.RawMessage(parallel), []keras.Input{{Name: "x", Shape: []int{3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	var dense []string
	for _, l := range m.Layers {
		if l.Class == "Dense" {
			dense = append(dense, l.Name)
		}
	}
	if want := "[k q v]"; fmt.Sprint(dense) != want { // as Keras 3.15 has the layers of the file
		t.Errorf("dense layers %v; want %s", dense, want)
	}
}

// TestInputsHaveTheOrderOfTheFirstLayerThatNeedsOne: images behind arithmetic have the channels last in Keras where package nn has them so.
func TestInputsHaveTheOrderOfTheFirstLayerThatNeedsOne(t *testing.T) {
	const normalized = `{"name": "mean", "layer": {"constant": {"values": [1, 2, 3], "shape": [%s]}}, "from": "x"},
		{"name": "centred", "layer": {"function": {"name": "sub"}}, "from": ["x", "mean"]}, {"name": "twice", "layer": "add", "from": ["centred", "centred"]}`
	for last, shape := range map[string][]int{
		`{"graph": {"inputs": ["x"], "nodes": [` + fmt.Sprintf(normalized, "1, 1, 3") + `, {"name": "first", "layer": {"permute": {"axes": [3, 1, 2]}}}, {"name": "y", "layer": {"conv2d": {"in_channels": 3, "out_channels": 2, "kernel_size": [3, 3], "stride": [1, 1], "padding": [0, 0]}}}]}}`: {5, 6, 3},
		`{"graph": {"inputs": ["x"], "nodes": [` + fmt.Sprintf(normalized, "3, 1, 1") + `, {"name": "y", "layer": {"conv2d": {"in_channels": 3, "out_channels": 2, "kernel_size": [3, 3], "stride": [1, 1], "padding": [0, 0]}}}]}}`:                                                               {3, 5, 6},
	} {
		m, _, err := keras.FromH5dnn(json.RawMessage(last), []keras.Input{{Name: "x", Shape: shape}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(m.Layer("x").Config["batch_input_shape"], m.Layer("x").Config["batch_shape"]), "[<nil> 5 6 3]"; !strings.Contains(got, want) {
			t.Errorf("samples of %v are %v in Keras; want %s", shape, got, want)
		}
	}
}

// TestKerasPredictsWhatH5dnnDoes writes models of package nn as files of Keras, which
// Keras loads. Both predict.
func TestKerasPredictsWhatH5dnnDoes(t *testing.T) {
	dir, arrays := t.TempDir(), t.TempDir()
	for name, c := range ours {
		model, err := nn.FromConfig(json.RawMessage(c.description))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := nn.Build(model, c.shapes...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		randomize(model)
		nn.Eval(model)
		description, err := nn.Describe(model)
		if err != nil {
			t.Fatal(err)
		}
		var inputs []keras.Input
		for i, shape := range c.shapes {
			in := keras.Input{Name: fmt.Sprintf("input_%d", i), Shape: shape}
			if takes := nn.InputOf(model, "").Type; takes.IsInt() {
				in.DType = takes.String()
			}
			inputs = append(inputs, in)
		}
		m, translation, err := keras.FromH5dnn(description, inputs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		saveKeras(t, model, m, translation, filepath.Join(dir, name+".keras"))
		saveSamples(t, model, c.shapes, m, filepath.Join(arrays, name+".npz"))
	}
	examine(t, arrays, dir)
}

// randomize gives parameters and statistics values that differ from their defaults.
func randomize(model nn.Module) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, a := range nn.StateDict(model) {
		for i := range storage.Elements[float32](a) {
			storage.Elements[float32](a)[i] = float32(r.NormFloat64() / 3)
			if strings.HasSuffix(name, "var") {
				storage.Elements[float32](a)[i] = float32(0.5 + r.Float64())
			}
		}
	}
}

func saveKeras(t *testing.T, model nn.Module, m *keras.Model, translation *keras.Translation, name string) {
	t.Helper()
	plans, err := translation.Links(m, keras.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string]weights.Tensor{}
	for parameter, a := range nn.StateDict(model) {
		parameters[parameter] = weights.Tensor{Name: parameter, Array: a}
	}
	_, missing, unused, err := keras.Import(plans, parameters)
	if err != nil || len(missing)+len(unused) > 0 {
		t.Fatalf("%s: %v, missing %v, unused %v", name, err, missing, unused)
	}
	contents, err := kerasfile.Contents(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := serialize.Save(name, "keras", contents); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// saveSamples writes random inputs, as the Keras model takes them, and outputs.
func saveSamples(t *testing.T, model nn.Module, shapes [][]int, m *keras.Model, name string) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var inputs []storage.Array
	stored := map[string]storage.Array{}
	for i, shape := range shapes {
		var err error
		elems := make([]float32, 2*views.Of(shape...).Len())
		for k := range elems {
			elems[k] = float32(r.NormFloat64())
		}
		x := storage.From(elems, append([]int{2}, shape...)...)
		if nn.InputOf(model, "").Type.IsInt() {
			tokens := make([]int64, len(elems))
			for k := range tokens {
				tokens[k] = int64(k * k % 9)
			}
			x = storage.From(tokens, x.Shape...)
		}
		inputs = append(inputs, x)
		view := x.View
		if k := len(shape); k > 1 && len(m.Layer(m.Inputs[i].Layer).OutputShapes[0]) == k && m.Layer(m.Inputs[i].Layer).OutputShapes[0][k-1] == shape[0] {
			order := []int{0}
			for axis := 2; axis <= k; axis++ {
				order = append(order, axis)
			}
			if view, err = view.Transpose(append(order, 1)...); err != nil {
				t.Fatal(err)
			}
		}
		stored[fmt.Sprintf("x%d", i)] = x.With(view)
	}
	for i, y := range predict(t, model, inputs) {
		stored[fmt.Sprintf("y%d", i)] = y
	}
	if err := serialize.Save(name, "npz", serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
		for name, a := range stored {
			if !yield(name, a) {
				return
			}
		}
	})}); err != nil {
		t.Fatal(err)
	}
}

// examine has Keras load the files in dir.
func examine(t *testing.T, arrays, dir string) {
	t.Helper()
	python := pythontest.Interpreter(t, pythontest.Variable, "keras")
	out := pythontest.Command(t, exec.Command(python, files+"examine.py", arrays, dir))
	for name := range ours {
		found := false
		for line := range strings.Lines(out) {
			var worst float64
			if n, _ := fmt.Sscanf(line, name+".keras %g", &worst); n == 1 {
				found = true
				t.Logf("%s %.1e", name, worst)
				if !(worst < 1e-5) {
					t.Errorf("%s: Keras's predictions differ by %v", name, worst)
				}
			}
		}
		if !found {
			t.Errorf("%s was not examined:\n%s", name, out)
		}
	}
}

// TestFlattenNeedsNoOtherLayer: whether package nn flattens with the channels first is what the translation
// says, and no layer of the model of Keras.
func TestFlattenNeedsNoOtherLayer(t *testing.T) {
	for _, name := range []string{"signal", "steps", "channels"} {
		model, err := nn.FromConfig(json.RawMessage(ours[name].description))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.Build(model, ours[name].shapes...); err != nil {
			t.Fatal(err)
		}
		description, err := nn.Describe(model)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := keras.FromH5dnn(description, []keras.Input{{Name: "x", Shape: ours[name].shapes[0]}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(m.Layers, func(l keras.Layer) bool { return l.Class == "Flatten" })
		if before := m.Layers[i-1].Class; before == "ZeroPadding1D" || before == "Permute" {
			t.Errorf("%s: a %s comes before Flatten", name, before)
		}
	}
}

// TestWhatKerasCannotSayIsNamed holds the errors of models of package nn that Keras has no
// counterpart for.
func TestWhatKerasCannotSayIsNamed(t *testing.T) {
	for description, want := range map[string]string{
		`[{"maxpool2d": {"kernel_size": 3, "stride": 2, "padding": 1}}]`: "layer 0 (maxpool2d)",
		`[{"function": {"name": "erfinv"}}]`:                             "layer 0 (function) has no counterpart in Keras: name erfinv",
		`[{"constant": {"values": [1], "shape": [1, 1, 1]}}, "relu"]`:    "layer 1 (relu) has no counterpart in Keras: an input is a constant",
		`[{"function": {"name": "std", "settings": {"dim": 1}}}]`:        "a correction of 1",
		`[{"lstm": {"hidden_size": 2, "num_layers": 2}}, "nonsense"]`:    "layer 0 (lstm) has no counterpart in Keras: 2 layers in one; layer 1 (nonsense)",
	} {
		_, _, err := keras.FromH5dnn(json.RawMessage(description), []keras.Input{{Name: "x", Shape: []int{2, 6, 6}}})
		if !errors.Is(err, weights.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want one about %s", description, err, want)
		}
	}
}

// TestOperationsAreNoLayers refuses the product of a tensor and an array of another shape of Keras 3, whose class has the name of a layer.
func TestOperationsAreNoLayers(t *testing.T) {
	const config = `{"class_name": "Functional", "config": {"name": "m", "input_layers": [["x", 0, 0]], "output_layers": [["multiply", 0, 0]], "layers": [
		{"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [null, 3]}, "inbound_nodes": []},
		{"module": "keras.src.ops.numpy", "class_name": "Multiply", "registered_name": "Multiply", "name": "multiply", "config": {"name": "multiply"},
			"inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}, {"class_name": "__numpy__", "config": {"value": [1, 2], "dtype": "float32"}}], "kwargs": {}}]}]}}`
	m, err := keras.Parse(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keras.ToH5dnn(m, keras.LinkOptions{}); !errors.Is(err, weights.ErrUnsupported) || !strings.Contains(err.Error(), "layer multiply (ops.Multiply)") {
		t.Errorf("error %v; want one about ops.Multiply", err)
	}
}

// TestAllLayersThatDoNotRunAreNamed: also one behind another, but none that runs.
func TestAllLayersThatDoNotRunAreNamed(t *testing.T) {
	m, err := keras.Parse(`{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "InputLayer", "config": {"batch_shape": [null, 6, 5, 2], "name": "in"}},
		{"class_name": "UpSampling2D", "config": {"name": "up", "interpolation": "bicubic"}}, {"class_name": "Conv2D", "config": {"name": "conv", "filters": 3, "kernel_size": 3}},
		{"class_name": "Flatten", "config": {"name": "flat"}}, {"class_name": "Own", "config": {"name": "own"}}, {"class_name": "Dense", "config": {"name": "dense", "units": 2}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = keras.ToH5dnn(m, keras.LinkOptions{})
	const want = "layer up (UpSampling2D) does not run in h5dnn: interpolation bicubic; layer own (Own) does not run in h5dnn: layers of this class are not translated"
	if !errors.Is(err, weights.ErrUnsupported) || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}

// TestDescriptionsHaveNamesThatEveryVersionReads looks at the settings that Keras 2 and 3 call
// differently.
func TestDescriptionsHaveNamesThatEveryVersionReads(t *testing.T) {
	m, err := keras.Parse(`{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "name": "in"}},
		{"class_name": "LeakyReLU", "config": {"name": "leaky", "negative_slope": 0.5}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := keras.Describe(m)
	if err != nil || !strings.Contains(text, `"alpha":0.5`) || !strings.Contains(text, `"batch_input_shape":[null,3]`) || strings.Contains(text, "negative_slope") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestVersionsOfDescriptions finds the version that wrote a description, on which the slope of
// hard_sigmoid depends.
func TestVersionsOfDescriptions(t *testing.T) {
	const layers = `"config": {"name": "m", "layers": [{"class_name": "InputLayer", "config": {"SHAPE": [null, 3], "name": "in"}}]}`
	for text, want := range map[string]string{
		`{"class_name": "Sequential", "keras_version": "2.4.0", "backend": "tensorflow", ` + layers + `}`:                   "2.4.0",
		`{"class_name": "Sequential", "module": "keras", ` + strings.Replace(layers, "SHAPE", "batch_shape", 1) + `}`:       "3.0.0",
		`{"class_name": "Sequential", "module": "keras", ` + strings.Replace(layers, "SHAPE", "batch_input_shape", 1) + `}`: "",
		`{"class_name": "Sequential", ` + layers + `}`:                                                                      "",
	} {
		m, err := keras.Parse(text)
		if err != nil || m.Version != want {
			t.Errorf("%s: version %q, %v; want %q", text, m.Version, err, want)
		}
	}
}

// TestLayersAreInTheOrderOfKeras has a graph whose nodes are not listed as Keras orders the
// layers, by the longest path to an output. Files of weights have no other order.
func TestLayersAreInTheOrderOfKeras(t *testing.T) {
	const graph = `{"graph": {"inputs": ["x", "y"], "nodes": [
		{"name": "late", "layer": {"linear": {"in_features": 3, "out_features": 3}}, "from": "y"},
		{"name": "one", "layer": {"linear": {"in_features": 3, "out_features": 3}}, "from": "x"},
		{"name": "two", "layer": {"linear": {"in_features": 3, "out_features": 3}}},
		{"name": "sum", "layer": "add", "from": ["two", "late"]}]}}`
	m, _, err := keras.FromH5dnn(json.RawMessage(graph), []keras.Input{{Name: "x", Shape: []int{3}}, {Name: "y", Shape: []int{3}}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range m.Layers {
		names = append(names, l.Name)
	}
	if got, want := strings.Join(names, " "), "x one y two late sum"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestOutputsHaveTheNamesOfTheirLayers holds also where the last node of a layer has another
// name.
func TestOutputsHaveTheNamesOfTheirLayers(t *testing.T) {
	m, err := keras.Parse(`{"class_name": "Functional", "config": {"name": "two", "layers": [
		{"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [null, 3]}, "inbound_nodes": []},
		{"class_name": "Dense", "name": "kind", "config": {"name": "kind", "units": 2, "activation": "sigmoid"}, "inbound_nodes": [[["x", 0, 0, {}]]]},
		{"class_name": "Dense", "name": "size", "config": {"name": "size", "units": 1}, "inbound_nodes": [[["x", 0, 0, {}]], [["x", 0, 0, {}]]]}],
		"input_layers": [["x", 0, 0]], "output_layers": [["kind", 0, 0], ["size", 0, 0], ["size", 1, 0]]}}`)
	if err != nil {
		t.Fatal(err)
	}
	translated, err := keras.ToH5dnn(m, keras.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	description, err := json.Marshal(translated.Description)
	if err != nil {
		t.Fatal(err)
	}
	built, err := nn.FromConfig(json.RawMessage(description))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := built.(*nn.Graph).OutputNames(), []string{"kind", "size", "size_2"}; !slices.Equal(got, want) {
		t.Errorf("outputs %v, want %v", got, want)
	}
}
