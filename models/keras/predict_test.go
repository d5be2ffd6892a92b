package keras_test

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

const files = "../../serialize/kerasfile/testdata/"

// TestTranslatedModelsPredictWhatKerasPredicted runs the models that Keras 2 and 3 saved,
// on the inputs and against the outputs that Keras stored beside them.
func TestTranslatedModelsPredictWhatKerasPredicted(t *testing.T) {
	all, err := filepath.Glob(files + "keras[0-9]_*.*")
	if err != nil || len(all) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range all {
		if ext := filepath.Ext(name); ext != ".keras" && ext != ".h5" || strings.Contains(name, ".weights.") || strings.Contains(name, "_only") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			base := strings.TrimSuffix(name, filepath.Ext(name))
			f := serializetest.Open(t, name)
			m := f.(*kerasfile.File).Model()
			translation, err := keras.ToH5dnn(m, keras.LinkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			model, err := nn.FromConfig(translation.Description)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, model, translation, m, base+".npz")
		})
	}
}

// TestAttentionPredictsWhatKerasPredicted runs the layers of attention of Keras with masks, causal, in groups, gated and shared.
func TestAttentionPredictsWhatKerasPredicted(t *testing.T) {
	m := serializetest.Open(t, "testdata/attention.keras").(*kerasfile.File).Model()
	translation, err := keras.ToH5dnn(m, keras.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	model, err := nn.FromConfig(translation.Description)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, model, translation, m, "testdata/attention.npz")
}

// compare loads the weights and compares the outputs with those in the .npz.
func compare(t *testing.T, model nn.Module, translation *keras.Translation, m *keras.Model, npz string) {
	t.Helper()
	stored := serializetest.Open(t, npz)
	load(t, model, translation, m)
	inputs := numbered(t, stored, "x")
	outputs := predict(t, model, inputs)
	for i, want := range numbered(t, stored, "y") {
		got := outputs[i]
		if !slices.Equal(got.Shape, want.Shape) {
			t.Errorf("output %d has shape %v; want %v", i, got.Shape, want.Shape)
			continue
		}
		if worst := difference(t, got, want); !(worst < 1e-5) {
			t.Errorf("output %d differs from Keras's by %v", i, worst)
		}
	}
}

func load(t *testing.T, model nn.Module, translation *keras.Translation, m *keras.Model) {
	t.Helper()
	plans, err := translation.Links(m, keras.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parameters, _, err := keras.Export(plans)
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string]storage.Array{}
	for _, p := range parameters {
		weights[p.Name] = p.Array
	}
	shapes := make([][]int, len(translation.Inputs))
	for i, in := range translation.Inputs {
		shapes[i] = in.Shape
	}
	if _, err := nn.Build(model, shapes...); err != nil {
		t.Fatal(err)
	}
	if err := nn.LoadStateDict(model, maps.All(weights)); err != nil {
		t.Fatal(err)
	}
	nn.Eval(model)
}

// numbered returns the arrays called prefix0, prefix1 and so on.
func numbered(t *testing.T, f serialize.File, prefix string) (list []storage.Array) {
	t.Helper()
	for i := 0; ; i++ {
		e, err := serialize.Lookup(f, prefix+string(rune('0'+i)))
		if err != nil {
			return list
		}
		list = append(list, e.Array)
	}
}

// predict returns the outputs of a model for inputs as Keras takes them.
func predict(t *testing.T, model nn.Module, inputs []storage.Array) []storage.Array {
	t.Helper()
	var outputs []storage.Array
	err := tensor.Infer(func(tape *tensor.Tape) error {
		var xs []*tensor.Tensor
		for _, a := range inputs {
			host, err := a.To(storage.CPU)
			if err != nil {
				return err
			}
			xs = append(xs, tape.Input(host))
		}
		for _, y := range nn.Call("", model, xs...) {
			out, err := storage.Make(storage.CPU, y.DType(), y.Shape()...)
			if err != nil {
				return err
			}
			if err := y.CopyTo(out); err != nil {
				return err
			}
			outputs = append(outputs, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return outputs
}

// difference returns the largest difference, relative to numbers of more than 1.
func difference(t *testing.T, a, b storage.Array) (worst float64) {
	t.Helper()
	x, err := storage.Read[float64](a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := storage.Read[float64](b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x {
		if d := math.Abs(x[i]-y[i]) / max(1, math.Abs(y[i])); !(d <= worst) {
			worst = d
		}
	}
	return worst
}
