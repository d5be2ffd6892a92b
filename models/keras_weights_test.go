package models_test

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
)

// cnnLayers is the architecture of the fixture cnn, in h5dnn's terms.
const cnnLayers = `
- conv2d: {out_channels: 4, kernel_size: 3, padding: 1}
- relu
- batchnorm2d: {num_features: 4, eps: 0.001}
- maxpool2d: 2
- flatten
- dense: 5
- softmax
`

// architecture writes a file and reads it as an architecture.
func architecture(t *testing.T, name, text string) models.Architecture {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := models.ReadArchitecture(file)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// planned opens the named file until the test ends, and plans its conversion.
func planned(t *testing.T, name, format string, o models.Options) *models.Plan {
	t.Helper()
	source, err := models.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	plan, err := models.New(source, format, o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// kerasRun plans a run of a file of Keras.
func kerasRun(t *testing.T, name string, o models.Options) (*models.Plan, error) {
	t.Helper()
	source, err := models.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	o.Framework = "h5dnn"
	return models.New(source, "hdf5", o)
}

// predictsAsKeras compares the prediction of a plan with the output that Keras stored.
func predictsAsKeras(t *testing.T, name string, plan *models.Plan, npz string) {
	t.Helper()
	predictsAs(t, name, plan, npz, "x0", "y0")
}

// predictsAs compares the prediction of a plan from an array of an npz file with another of its arrays.
func predictsAs(t *testing.T, name string, plan *models.Plan, npz, input, output string) {
	t.Helper()
	run, err := plan.Run(storage.CPU)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p, err := run.Predictor()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	stored, err := serialize.Open(npz)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	x, err1 := serialize.Find(stored, input)
	y, err2 := serialize.Find(stored, output)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	host, err := x.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Predict(host)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want, err := storage.Read[float32](y)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range storage.Elements[float32](got) {
		if d := math.Abs(float64(v - want[i])); !(d < 1e-5) {
			t.Fatalf("%s: output %d is %v; Keras has %v", name, i, v, want[i])
		}
	}
}

// TestWeightsOfKerasRunWithALayerList predicts with weights of Keras in all layouts and
// the architecture in h5dnn's terms: the samples are those of Keras, whose channels come
// last, which the weights tell.
func TestWeightsOfKerasRunWithALayerList(t *testing.T) {
	a := architecture(t, "cnn.yaml", cnnLayers)
	for _, name := range []string{"keras3_cnn.weights.h5", "keras2_cnn.weights.h5", "keras2_cnn_only.h5", "keras2_cnn.h5", "keras3_cnn.keras"} {
		plan, err := kerasRun(t, kerasFiles+name, models.Options{Architecture: a, InputShapes: map[string][]int{"": []int{8, 6, 3}}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		predictsAsKeras(t, name, plan, kerasFiles+name[:6]+"_cnn.npz")
	}
}

// saved writes the weights of a Sequential of Keras, which has the given layers.
func saved(t *testing.T, layers string, weights map[string]storage.Array) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "model.weights.h5")
	config := `{"class_name": "Sequential", "config": {"name": "m", "layers": [` + layers + `]}}`
	contents := serialize.Contents{Entries: serialize.Arrays(maps.All(weights)), Meta: map[string]string{kerasfile.MetaConfig: config}}
	if err := serialize.Save(name, "", contents); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestWeightsOfPyTorchRunWithAnArchitectureOfKeras predicts with a state_dict.
func TestWeightsOfPyTorchRunWithAnArchitectureOfKeras(t *testing.T) {
	source, err := models.Open(kerasFiles + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	file := filepath.Join(t.TempDir(), "cnn.safetensors")
	plan, err := models.New(source, "safetensors", models.Options{})
	if err == nil {
		err = plan.Write(context.Background(), file)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := models.ReadArchitecture(kerasFiles + "keras2_cnn.h5")
	if err != nil {
		t.Fatal(err)
	}
	if plan, err = kerasRun(t, file, models.Options{Architecture: a}); err != nil {
		t.Fatal(err)
	}
	predictsAsKeras(t, file, plan, kerasFiles+"keras3_cnn.npz")
}

// TestNamesOfLayersComeFirst gives nodes of a graph, in another order, the names that the
// weights have.
func TestNamesOfLayersComeFirst(t *testing.T) {
	kernel := func(k float32) storage.Array { return storage.From([]float32{k, k, k, k}, 2, 2) }
	file := saved(t, `{"class_name": "Dense", "config": {"name": "a", "units": 2, "use_bias": false}}, {"class_name": "Dense", "config": {"name": "b", "units": 2, "use_bias": false}}`,
		map[string]storage.Array{"a/kernel": kernel(1), "b/kernel": kernel(2)})
	for _, c := range []struct {
		first, second string
		want          map[string]float32
	}{
		{"b", "a", map[string]float32{"model/a.weight": 1, "model/b.weight": 2}},
		{"c", "a", map[string]float32{"model/c.weight": 1, "model/a.weight": 2}}, // in order: c is not a name in the file
	} {
		layer := "layer: {dense: {out_features: 2, bias: false}}"
		text := "model: {graph: {nodes: [{name: " + c.first + ", " + layer + "}, {name: " + c.second + ", " + layer + "}]}}"
		plan, err := kerasRun(t, file, models.Options{Architecture: architecture(t, "graph.yaml", text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, tensor := range plan.Tensors {
			if want, ok := c.want[tensor.Name]; ok {
				if got, err := storage.Read[float32](tensor.Array); err != nil || got[0] != want {
					t.Errorf("%s is %v, %v; want %v", tensor.Name, got, err, want)
				}
			}
		}
	}
}

// TestImagesOfEitherLayoutAreAmbiguous refuses samples of which weights do not tell where
// the channels are.
func TestImagesOfEitherLayoutAreAmbiguous(t *testing.T) {
	file := saved(t, `{"class_name": "Conv2D", "config": {"name": "c", "filters": 2, "kernel_size": [1, 1], "use_bias": false}}`,
		map[string]storage.Array{"c/kernel": storage.From(make([]float32, 6), 1, 1, 3, 2)})
	layer := "- conv2d: {out_channels: 2, kernel_size: 1, bias: false}"
	_, err := kerasRun(t, file, models.Options{Architecture: architecture(t, "list.yaml", layer), InputShapes: map[string][]int{"": []int{3, 4, 3}}})
	if err == nil || !strings.Contains(err.Error(), "channels first or last; add data: {layout: nchw}") {
		t.Errorf("error %v; want one about the layout", err)
	}
	for _, layout := range []string{"nchw", "nhwc"} {
		text := "model: [{conv2d: {out_channels: 2, kernel_size: 1, bias: false}}]\ndata: {layout: " + layout + "}"
		if _, err := kerasRun(t, file, models.Options{Architecture: architecture(t, "layout.yaml", text), InputShapes: map[string][]int{"": []int{3, 4, 3}}}); err != nil {
			t.Errorf("%s: %v", layout, err)
		}
	}
}

// TestWeightsThatDoNotFitAreNamed holds the errors of architectures that are not those of
// the weights, and of samples whose layout nothing tells.
func TestWeightsThatDoNotFitAreNamed(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(cnnLayers, old, new, 1) }
	for _, c := range []struct {
		name, text string
		shape      []int
		want       string
	}{
		{"a layer less", change("- batchnorm2d: {num_features: 4, eps: 0.001}\n", ""), []int{8, 6, 3}, "which the architecture lacks"},
		{"a layer more", change("- softmax\n", "- dense: 5\n"), []int{8, 6, 3}, "no dataset /layers/dense_1"},
		{"another size", change("dense: 5", "dense: 6"), []int{8, 6, 3}, "makes 5.weight of shape [5 48]; the architecture has [6 48]"},
		{"another class", change("batchnorm2d: {num_features: 4, eps: 0.001}", "prelu"), []int{8, 6, 3}, "prelu"},
		{"other channels", cnnLayers, []int{8, 6, 2}, "conv2d"},
	} {
		file := filepath.Join(t.TempDir(), "model.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		a, err := models.ReadArchitecture(file)
		if err == nil {
			_, err = kerasRun(t, kerasFiles+"keras3_cnn.weights.h5", models.Options{Architecture: a, InputShapes: map[string][]int{"": c.shape}})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v; want one that says %q", c.name, err, c.want)
		}
	}
}

// TestFoldersOfKerasAreModels opens the members of a .keras as files of a folder.
func TestFoldersOfKerasAreModels(t *testing.T) {
	archive, err := zip.OpenReader(kerasFiles + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	folder := t.TempDir()
	for _, member := range archive.File {
		r, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, member.Name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := kerasRun(t, folder, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	predictsAsKeras(t, "folder", plan, kerasFiles+"keras3_cnn.npz")
	if err := os.Remove(filepath.Join(folder, "model.weights.h5")); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Open(folder); err == nil || !strings.Contains(err.Error(), "not beside it") {
		t.Errorf("error %v of a folder without weights; want one that says so", err)
	}
}

// TestRulesAloneNameWeightsWithoutAnArchitecture, of which h5dnn does not know what layers
// they are of.
func TestRulesAloneNameWeightsWithoutAnArchitecture(t *testing.T) {
	const name = "../serialize/kerasfile/testdata/keras2_cnn_only.h5"
	planned := func(text string) (*models.Plan, error) {
		rules, err := weights.ParseRules("rules.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		source, err := models.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { source.Close() })
		return models.New(source, "safetensors", models.Options{Rules: &rules})
	}
	plan, err := planned("{tensors: [{from: '*/kernel', to: '*.weight', do: transpose 1 0}, {from: '*/bias', to: '*.bias'}], drop: 'batch_normalization/*'}")
	if err == nil {
		t.Errorf("a transposition of two axes fits four: %v", plan.Tensors)
	}
	plan, err = planned("{tensors: [{from: dense/kernel, to: out.weight, do: transpose 1 0}, {from: '*/bias', to: '*.bias'}], drop: 'batch_normalization/*'}")
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, tensor := range plan.Tensors {
		made = append(made, fmt.Sprint(tensor.Name, tensor.Array.Shape))
	}
	if want := []string{"out.weight[5 48]", "conv2d.bias[4]", "dense.bias[5]"}; !slices.Equal(made, want) {
		t.Errorf("made %v, want %v", made, want)
	}
	if lost := plan.Lost.Of("conv2d/kernel"); !lost.Avoidable() {
		t.Errorf("lost %v, want conv2d/kernel", plan.Lost)
	}
	if _, err := planned("modules: {dense: out}"); err == nil || !strings.Contains(err.Error(), "rules for modules need the architecture") {
		t.Errorf("rules for modules: %v", err)
	}
}

// TestTypesThatTheFormatLacks are converted to float32 if that is exact, and lost if it is not.
func TestTypesThatTheFormatLacks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in.pt")
	arrays := maps.All(map[string]storage.Array{
		"complex": storage.From([]complex128{1 + 2i}, 1),
		"half":    weights.Cast(storage.From([]float32{1.5}, 1), dtype.BFloat16),
		"whole":   storage.From([]int64{1 << 40}, 1),
	})
	if err := serialize.Save(name, "torch", serialize.Contents{Entries: serialize.Arrays(arrays)}); err != nil {
		t.Fatal(err)
	}
	source, err := models.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	rules := weights.Rules{Rest: "keep"}
	for format, want := range map[string]string{
		"safetensors": "half bfloat16, whole int64; lost complex",
		"npz":         "complex complex128, half float32, whole int64; lost ",
	} {
		plan, err := models.New(source, format, models.Options{Rules: &rules})
		if err != nil {
			t.Fatal(err)
		}
		var kept, lost []string
		for _, tensor := range plan.Tensors {
			kept = append(kept, fmt.Sprintf("%s %v", tensor.Name, tensor.Array.Type))
		}
		for _, item := range plan.Lost {
			if lost = append(lost, item.Path); item.Inherent {
				t.Errorf("%s: the loss of %s is not counted", format, item.Path)
			}
		}
		slices.Sort(kept)
		if got := strings.Join(kept, ", ") + "; lost " + strings.Join(lost, ", "); got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// TestTiedWeightsStayTied by rules that keep them.
func TestTiedWeightsStayTied(t *testing.T) {
	folder := t.TempDir()
	tied := storage.From([]float32{1, 2, 3}, 3)
	entries := serialize.Entries(serialize.Entry{Name: "embedding", Array: tied, Shared: "x"}, serialize.Entry{Name: "head", Array: tied, Shared: "x"}, serialize.Entry{Name: "other", Array: storage.From([]float32{1, 2, 3}, 3)})
	in, out := filepath.Join(folder, "in.pt"), filepath.Join(folder, "out.pt")
	if err := serialize.Save(in, "torch", serialize.Contents{Entries: entries}); err != nil {
		t.Fatal(err)
	}
	source, err := models.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := models.New(source, "torch", models.Options{Rules: &weights.Rules{Rest: "keep"}})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	written, err := serialize.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	shared := map[string]string{}
	for e, err := range written.All() {
		if err != nil {
			t.Fatal(err)
		}
		shared[e.Name] = e.Shared
	}
	if len(shared) != 3 || shared["embedding"] == "" || shared["embedding"] != shared["head"] || shared["embedding"] == shared["other"] {
		t.Errorf("the output shares %v; want embedding and head", shared)
	}
}

// TestVerifyFindsWhatWasNotPlanned verifies files with another value, type or shape, and without
// an array.
func TestVerifyFindsWhatWasNotPlanned(t *testing.T) {
	plan := planned(t, "../serialize/kerasfile/testdata/keras3_cnn.keras", "safetensors", models.Options{})
	for name, change := range map[string]func(e *serialize.Entry){
		"as planned":    func(*serialize.Entry) {},
		"another value": func(e *serialize.Entry) { e.Array = weights.Scale(e.Array, 1.0000002) },
		"another type":  func(e *serialize.Entry) { e.Array = weights.Cast(e.Array, dtype.Float64) },
		"another shape": func(e *serialize.Entry) { e.Array.View, _ = e.Array.Unsqueeze(0) },
		"another name":  func(e *serialize.Entry) { e.Name += "2" },
	} {
		out := filepath.Join(t.TempDir(), "out.safetensors")
		contents := plan.Contents(t.Context())
		planned := contents.Entries
		contents.Entries = func(yield func(serialize.Entry, error) bool) {
			for e, err := range planned {
				if e.Name == "conv2d.weight" {
					change(&e)
				}
				if !yield(e, err) {
					return
				}
			}
		}
		if err := serialize.Save(out, "safetensors", contents); err != nil {
			t.Fatal(err)
		}
		if v, err := plan.Verify(t.Context(), out); (err == nil) != (name == "as planned") || err != nil && !strings.Contains(err.Error(), "conv2d.weight") {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestArraysOfNoLayerAreLostByName: a .keras may have arrays of a layer whose place in the file
// does not follow from its class.
func TestArraysOfNoLayerAreLostByName(t *testing.T) {
	for _, format := range []string{"torch", "hdf5"} {
		source, err := models.Open(kerasFiles + "keras3_cnn.keras")
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		for _, name := range []string{"layers/mine/_part/vars/0", "metrics/mean/vars/0"} {
			source.Entries = append(source.Entries, serialize.Entry{Name: name, Array: source.Entries[0].Array})
		}
		p, err := models.New(source, format, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if lost := p.Lost.Of("layers/mine/_part/vars/0"); len(lost) != 1 || lost[0].Inherent || lost[0].Text() != "1 array lost: no layer of the architecture is known to have it; a rules file can name it" {
			t.Errorf("%s: lost: %v; want the array of layers/mine", format, p.Lost)
		}
		if lost := p.Lost.Of("metrics/mean/vars/0"); len(lost) != 1 || !lost[0].Inherent {
			t.Errorf("%s: lost: %v; want the metric, for which the output has no place", format, p.Lost)
		}
	}
}

// TestArraysThatNoRuleTakesAreCounted: each is lost by itself, in every direction.
func TestArraysThatNoRuleTakesAreCounted(t *testing.T) {
	a, err := models.ReadArchitecture(kerasFiles + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cnn.safetensors")
	if err := planned(t, kerasFiles+"keras3_cnn.keras", "safetensors", models.Options{}).Write(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"keras", "hdf5"} {
		source, err := models.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		for _, name := range []string{"ema.decay", "more"} {
			source.Entries = append(source.Entries, serialize.Entry{Name: name, Array: storage.From([]float32{1, 2}, 2)})
		}
		p, err := models.New(source, format, models.Options{Architecture: a})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ema.decay", "more"} {
			if lost := p.Lost.Of(name); len(lost) != 1 || lost[0].Inherent || lost[0].Text() != "1 array lost: unmapped: no rule takes it" {
				t.Errorf("%s: lost %v; want %s once", format, p.Lost, name)
			}
		}
	}
}

// TestWeightsOfPyTorchInAnArchitectureOfKerasAreNotLost makes a run of a state_dict and a .keras:
// it has every weight, and the optimizer that it lacks is reported once.
func TestWeightsOfPyTorchInAnArchitectureOfKerasAreNotLost(t *testing.T) {
	source, err := models.Open(kerasFiles + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := models.New(source, "torch", models.Options{Optimizer: true})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "cnn.pt")
	if err := plan.Write(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	architecture, err := models.ReadArchitecture(kerasFiles + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	weights, err := models.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	run, err := models.New(weights, "hdf5", models.Options{Architecture: architecture})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Lost) != 1 || run.Lost[0].Path != models.OptimizerPath {
		t.Errorf("lost: %v; want the optimizer, once", run.Lost)
	}
}
