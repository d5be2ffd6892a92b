//go:build cgo

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestPredictWithModel predicts with a state_dict in the order of its names, not of its layers,
// and with a configuration that is nothing but a graph. A state_dict with weights of other layers
// is refused.
func TestPredictWithModel(t *testing.T) {
	t.Chdir(t.TempDir())
	weights := map[string]storage.Array{
		"encoder.0.weight": storage.From([]float32{1, 2, 3, 0, -1, 0}, 2, 3), "encoder.0.bias": storage.From([]float32{0, 1}, 2),
		"decoder.weight": storage.From([]float32{1, 0, 0, 1, 1, 1, 2, 0}, 4, 2), "decoder.bias": storage.From([]float32{0, 0, 0, 1}, 4),
	}
	save := func(name string, arrays map[string]storage.Array) {
		t.Helper()
		if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(maps.All(arrays))}); err != nil {
			t.Fatal(err)
		}
	}
	save("w.safetensors", weights)
	save("x.npz", map[string]storage.Array{"x": storage.From([]float32{1, 2, 3, 0, 0, -1}, 2, 3)})
	model := "graph:\n  nodes:\n    - {name: encoder, layer: [{dense: 2}, relu]}\n    - {name: decoder, layer: {dense: 4}}\n"
	if err := os.WriteFile("m.yaml", []byte(model), 0o666); err != nil {
		t.Fatal(err)
	}
	const command = "h5dnn predict w.safetensors x.npz:/x --model m.yaml -o - --format csv"
	if got, want := output(t, command), "14.0,0.0,14.0,29.0\n0.0,1.0,1.0,1.0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	rounded := output(t, command+" --weights bf16") // all of these numbers are numbers of bfloat16
	if has := native.BF16(); has != strings.Contains(rounded, "14.0,0.0,14.0,29.0\n0.0,1.0,1.0,1.0\n") || has != strings.Contains(rounded, "note: bfloat16: 2 of 2 layers") || has == strings.Contains(rounded, "does not multiply them") {
		t.Errorf("with weights of bfloat16: %s", rounded)
	}
	if got := output(t, command+" --weights fp8"); !strings.Contains(got, "--weights fp8: want float32, bf16 or int8") {
		t.Error(got)
	}
	weights["head.weight"] = storage.From([]float32{1, 2, 3, 4}, 1, 4)
	save("w.safetensors", weights)
	if got := output(t, command); !strings.Contains(got, "does not have: head.weight; add their layers") {
		t.Errorf("with weights of another layer: %s", got)
	}
}

// TestShapesOfSamplesThatWeightsLeaveOpen: a layer that flattens, sequences and tokens take samples of several shapes. Predict takes the shape in its
// data, and convert asks for it where weights have no numbers of features.
func TestShapesOfSamplesThatWeightsLeaveOpen(t *testing.T) {
	for _, c := range []struct {
		preset string
		shape  []int
		asks   bool
	}{{"mlp", []int{3, 5}, false}, {"lstm", []int{7, 4}, true}, {"transformer", []int{9}, true}, {"gpt", []int{9}, true}} {
		t.Run(c.preset, func(t *testing.T) {
			t.Chdir(t.TempDir())
			model, err := nn.Preset(c.preset, 3)
			if err == nil {
				_, err = nn.Build(model, c.shape)
			}
			if err != nil {
				t.Fatal(err)
			}
			nn.Init(model, 1)
			x, err := storage.Make(storage.CPU, dtype.Int64, append([]int{2}, c.shape...)...)
			if err != nil {
				t.Fatal(err)
			}
			weights, theirs := map[string]storage.Array{}, strings.NewReplacer(".gamma", ".weight", ".beta", ".bias")
			for name, a := range nn.StateDict(model) {
				weights[theirs.Replace(name)] = a
			}
			for name, arrays := range map[string]map[string]storage.Array{"w.safetensors": weights, "x.npz": {"x": x}} {
				if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(maps.All(arrays))}); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile("m.yaml", []byte("model: "+c.preset+"\nclasses: 3\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			if got := output(t, "h5dnn predict w.safetensors x.npz:/x --model m.yaml -o y.npy"); strings.Contains(got, "h5dnn predict:") {
				t.Error(got)
			}
			if got := output(t, "h5dnn convert w.safetensors run.h5 --model m.yaml"); strings.Contains(got, "--input-shape") != c.asks {
				t.Errorf("convert: %s", got)
			}
		})
	}
}

// TestConvertTakesSamplesOfConfiguredData without --input-shape, and says what keeps it from that.
func TestConvertTakesSamplesOfConfiguredData(t *testing.T) {
	t.Chdir(t.TempDir())
	model, err := nn.Preset("lstm", 3)
	if err == nil {
		_, err = nn.Build(model, []int{7, 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	var weights []serialize.Entry
	for name, a := range nn.StateDict(model) {
		weights = append(weights, serialize.Entry{Name: name, Array: a})
	}
	for name, entries := range map[string][]serialize.Entry{
		"w.safetensors": weights,
		"data.npz":      {{Name: "x", Array: storage.From(make([]float32, 5*7*4), 5, 7, 4)}, {Name: "y", Array: storage.From([]int64{0, 1, 2, 0, 1}, 5)}},
		"other.npz":     {{Name: "x", Array: storage.From(make([]float32, 5*7*2), 5, 7, 2)}, {Name: "y", Array: storage.From([]int64{0, 1, 2, 0, 1}, 5)}},
	} {
		if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Entries(entries...)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ data, out, want string }{
		{"file: data.npz, x: x, y: y", "run.h5", ""},
		{"file: absent.npz, x: x, y: y", "a.h5", "give it by --input-shape"},
		{"file: other.npz, x: x, y: y", "b.h5", "give it by --input-shape"}, // weights of other samples
		{"file: data.npz, x: z, y: y", "c.h5", "m.yaml: data: data.npz has no array z; did you mean /x?; --input-shape does without"},
		{"file: data.npz, x: x, y: y", "data.npz --framework h5dnn --force", "data.npz is the input"},
	} {
		if err := os.WriteFile("m.yaml", []byte("data: {"+c.data+"}\nmodel: lstm\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		got := output(t, "h5dnn convert w.safetensors --model m.yaml "+c.out)
		if !strings.Contains(got, c.want) || strings.Contains(got, "h5dnn convert:") != (c.want != "") {
			t.Errorf("data %s to %s: %s", c.data, c.out, got)
		}
	}
	if got := output(t, "h5dnn predict run.h5 data.npz:/x -o y.npy"); got != "" {
		t.Error(got)
	}
	if got := output(t, "h5dnn convert w.safetensors d.h5 --model m.yaml --input-shape z=7,4"); !strings.Contains(got, "a shape for input z; the inputs of the model are x") {
		t.Error(got)
	}
	if got := output(t, "h5dnn predict w.safetensors data.npz:/x --model m.yaml -o z.npy"); !strings.Contains(got, "lstm has one output unless the configuration says classes: NUMBER") {
		t.Error(got)
	}
}

// TestPredictKeepsToItsMemory: a sample of 2.4 MB takes more than 1 MiB.
func TestPredictKeepsToItsMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, arrays := range map[string]map[string]storage.Array{
		"w.safetensors": {"1.weight": storage.From(make([]float32, 6), 2, 3), "1.bias": storage.From(make([]float32, 2), 2)},
		"x.npz":         {"x": storage.From(make([]float32, 2*600000), 2, 600000)},
	} {
		if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(maps.All(arrays))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("m.yaml", []byte("model: [{slice: {stop: 3}}, {dense: 2}]"), 0o666); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"": "", " --memory 64": "", " --memory 1": "more memory than is allowed: 1 MiB", " --memory -1": "--memory -1: want a number of MiB", " --memory 9999999999999": "--memory 9999999999999: want a number of MiB"} {
		if got := output(t, "h5dnn predict w.safetensors x.npz:/x --model m.yaml --force -o y.npy"+flag); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("predict%s: %s", flag, got)
		}
	}
}

// TestPredictWithPresetAndWeights predicts with a preset and a state_dict of it, as torchvision names its parts.
func TestPredictWithPresetAndWeights(t *testing.T) {
	t.Chdir(t.TempDir())
	model, err := nn.Preset("mobilenet_v2", 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nn.Build(model, []int{3, 32, 32}); err != nil {
		t.Fatal(err)
	}
	nn.Init(model, 1)
	x := storage.From(make([]float32, 2*3*32*32), 2, 3, 32, 32)
	for i := range storage.Elements[float32](x) {
		storage.Elements[float32](x)[i] = float32(i%17) / 17
	}
	weights, theirs := map[string]storage.Array{}, strings.NewReplacer(".gamma", ".weight", ".beta", ".bias")
	for name, a := range nn.StateDict(model) {
		weights[theirs.Replace(name)] = a
		if prefix, ok := strings.CutSuffix(name, ".running_mean"); ok {
			storage.Elements[float32](a)[0] = 0.25 // unlike the first mean of a new layer
			weights[prefix+".num_batches_tracked"] = storage.From([]int64{7})
		}
	}
	if _, ok := weights["features.1.conv.0.0.weight"]; !ok {
		t.Fatalf("names %v", slices.Sorted(maps.Keys(weights)))
	}
	for name, arrays := range map[string]map[string]storage.Array{"w.pt": weights, "x.npz": {"x": x}} {
		if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(maps.All(arrays))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("m.yaml", []byte("model: mobilenet_v2\nclasses: 3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := train.NewPredictor(model, storage.CPU, train.Feature{Name: "x", Shape: []int{3, 32, 32}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, "h5dnn predict w.pt x.npz:/x --model m.yaml -o y.npy"); got != "" {
		t.Error(got)
	}
	f, err := serialize.Open("y.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := serialize.Load(f)
	if err != nil || len(entries) != 1 {
		t.Fatal(len(entries), err)
	}
	if a, b := fmt.Sprint(storage.Elements[float32](entries[0].Array)), fmt.Sprint(storage.Elements[float32](want)); a != b {
		t.Errorf("%s, want %s", a, b)
	}
}

// TestModelsThatCannotBeReadAreNotConvertedAsArrays, which are not transposed.
func TestModelsThatCannotBeReadAreNotConvertedAsArrays(t *testing.T) {
	file, err := os.ReadFile("../../serialize/kerasfile/testdata/keras2_graph.h5")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	damaged := bytes.ReplaceAll(file, []byte(`[[["stem", 0, 0`), []byte(`[[["stew", 0, 0`)) // a layer that is not there
	if err := os.WriteFile("m.h5", damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := output(t, "h5dnn convert m.h5 m.safetensors"); !strings.Contains(got, `"stew", which does not exist`) {
		t.Errorf("%s; want the error of the description", got)
	}
	if _, err := os.Stat("m.safetensors"); err == nil {
		t.Error("the arrays are converted without the model")
	}
}

// TestPredictSaysHowItDiffersFromKeras: it computes in float32, and names a layer that it does not run
// with a way out.
func TestPredictSaysHowItDiffersFromKeras(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := serialize.Save("x.npz", "", serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "x", Array: storage.From([]float32{1, 2}, 1, 2)})}); err != nil {
		t.Fatal(err)
	}
	for layer, want := range map[string]string{
		`{"class_name": "Dense", "config": {"name": "d", "units": 1, "use_bias": false, "dtype": "mixed_bfloat16"}}`: "note: Keras computes 1 layer in bfloat16",
		`{"class_name": "Dense", "config": {"name": "d", "units": 1, "use_bias": false}}`:                            "5.0",
		`{"class_name": "Lambda", "config": {"name": "d"}}`:                                                          "layer d (Lambda) does not run in h5dnn: it is a program that the file holds; run it in Keras, or in PyTorch",
	} {
		config := `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}}, ` + layer + `]}}`
		entries := serialize.Entries(serialize.Entry{Name: "d/kernel", Array: storage.From([]float32{1, 2}, 2, 1)})
		if err := serialize.Save("m.keras.h5", "keras-h5", serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": config, "keras_version": "3.1.0"}}); err != nil {
			t.Fatal(err)
		}
		if got := output(t, "h5dnn predict m.keras.h5 x.npz:/x -o - --format csv"); !strings.Contains(got, want) || strings.Contains(got, "note:") != strings.HasPrefix(want, "note:") {
			t.Errorf("%s: %q; want %q", layer, got, want)
		}
	}
}

// TestConvertToARunNamesTheWayOut: an .h5 is a run of h5dnn unless --framework says otherwise.
func TestConvertToARunNamesTheWayOut(t *testing.T) {
	t.Chdir(t.TempDir())
	const config = `{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 2]}},
		{"class_name": "Dense", "config": {"name": "d", "units": 1, "use_bias": false, "activation": "sparsemax"}}]}}`
	kernel := serialize.Entry{Name: "d/kernel", Array: storage.From([]float32{1, 2}, 2, 1)}
	if err := serialize.Save("m.keras", "keras", serialize.Contents{Entries: serialize.Entries(kernel), Meta: map[string]string{"model_config": config, "keras_version": "3.1.0"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := output(t, "h5dnn convert m.keras run.h5"), "does not run in h5dnn: activation sparsemax (--framework keras writes a file that Keras loads)"; !strings.Contains(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

// TestSamplesHaveTheShapeOfTheirInput: a vector of numbers fits an input of one feature, also where it
// is not the first one.
func TestSamplesHaveTheShapeOfTheirInput(t *testing.T) {
	t.Chdir(t.TempDir())
	const config = `{"class_name": "Functional", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "name": "a", "config": {"name": "a", "batch_input_shape": [null, 2]}, "inbound_nodes": []},
		{"class_name": "InputLayer", "name": "b", "config": {"name": "b", "batch_input_shape": [null, 1]}, "inbound_nodes": []},
		{"class_name": "Concatenate", "name": "c", "config": {"name": "c"}, "inbound_nodes": [[["a", 0, 0, {}], ["b", 0, 0, {}]]]},
		{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 1, "use_bias": false}, "inbound_nodes": [[["c", 0, 0, {}]]]}],
		"input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": [["d", 0, 0]]}}`
	kernel := serialize.Entry{Name: "d/kernel", Array: storage.From([]float32{1, 10, 100}, 3, 1)}
	if err := serialize.Save("m.h5", "keras-h5", serialize.Contents{Entries: serialize.Entries(kernel), Meta: map[string]string{"model_config": config}}); err != nil {
		t.Fatal(err)
	}
	samples := serialize.Entries(
		serialize.Entry{Name: "pairs", Array: storage.From([]float32{1, 2, 3, 4}, 2, 2)},
		serialize.Entry{Name: "numbers", Array: storage.From([]float32{5, 6}, 2)})
	if err := serialize.Save("x.npz", "", serialize.Contents{Entries: samples}); err != nil {
		t.Fatal(err)
	}
	if got, want := output(t, "h5dnn predict m.h5 a=x.npz:/pairs b=x.npz:/numbers -o - --format csv"), "521.0\n643.0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := output(t, "h5dnn predict m.h5 a=x.npz:/pairs b=x.npz:/pairs -o - --format csv"), "b: samples of [2]; m.h5 was trained on samples of [1]"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDataSettleOpenSizesOfInputs of a model that says only how many features a step has.
func TestDataSettleOpenSizesOfInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	const config = `{"class_name": "Functional", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "name": "a", "config": {"name": "a", "batch_input_shape": [null, null, 2]}, "inbound_nodes": []},
		{"class_name": "InputLayer", "name": "b", "config": {"name": "b", "batch_input_shape": [null, null, 2]}, "inbound_nodes": []},
		{"class_name": "Concatenate", "name": "c", "config": {"name": "c"}, "inbound_nodes": [[["a", 0, 0, {}], ["b", 0, 0, {}]]]},
		{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 1, "use_bias": false}, "inbound_nodes": [[["c", 0, 0, {}]]]},
		{"class_name": "Flatten", "name": "f", "config": {"name": "f"}, "inbound_nodes": [[["d", 0, 0, {}]]]}],
		"input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": [["f", 0, 0]]}}`
	kernel := serialize.Entry{Name: "d/kernel", Array: storage.From([]float32{1, 2, 3, 4}, 4, 1)}
	if err := serialize.Save("m.h5", "keras-h5", serialize.Contents{Entries: serialize.Entries(kernel), Meta: map[string]string{"model_config": config}}); err != nil {
		t.Fatal(err)
	}
	x := serialize.Entry{Name: "x", Array: storage.From([]float32{1, 0, 0, 1, 1, 1}, 1, 3, 2)}
	if err := serialize.Save("x.npz", "", serialize.Contents{Entries: serialize.Entries(x)}); err != nil {
		t.Fatal(err)
	}
	const want = "4.0,6.0,10.0\n" // (1 + 3)·x₁ + (2 + 4)·x₂
	if got := output(t, "h5dnn predict m.h5 a=x.npz:/x b=x.npz:/x -o - --format csv"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	output(t, "h5dnn convert m.h5 run.h5 --framework h5dnn --input-shape a=3,2 --input-shape b=3,2")
	if got := output(t, "h5dnn predict run.h5 a=x.npz:/x b=x.npz:/x -o - --format csv"); got != want {
		t.Errorf("of the run %q, want %q", got, want)
	}
	for line, want := range map[string]string{
		"h5dnn predict m.h5 a=x.npz:/x c=x.npz:/x -o - --format csv":                          "a shape for input c; the inputs of the model are a, b",
		"h5dnn predict m.h5 a=x.npz:/x -o - --format csv":                                     "nor do the data a=x.npz:/x; name the data of each input, NAME=DATA",
		"h5dnn convert m.h5 other.h5 --framework h5dnn --input-shape z=3,2":                   "a shape for input z; the inputs of the model are a, b",
		"h5dnn convert m.h5 other.h5 --framework h5dnn --input-shape a=3,2":                   "of several inputs --input-shape NAME=7,4 for each",
		"h5dnn convert m.h5 other.h5 --framework h5dnn --input-shape a=3,2 --input-shape b=0": "--input-shape b=0: want sizes of at least 1",
		"h5dnn convert m.h5 other.h5 --framework h5dnn --input-shape 3,2,1":                   "a: samples of [3 2 1]; the model takes [-1 2]",
	} {
		if got := output(t, line); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
