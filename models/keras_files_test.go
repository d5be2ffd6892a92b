package models_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// normalized is a model in which the numbers of the variables in .weights.h5 have several
// meanings: one layer lacks gamma and one lacks beta.
const normalized = `{"class_name": "Sequential", "config": {"name": "m", "layers": [
	{"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "name": "in"}},
	{"class_name": "BatchNormalization", "config": {"name": "shifted", "scale": false, "epsilon": 1e-3, "axis": [-1]}},
	{"class_name": "LayerNormalization", "config": {"name": "scaled", "center": false, "epsilon": 1e-3, "axis": [-1]}}]}}`

// kerasFile writes a file of Keras.
func kerasFile(t *testing.T, name, format, config string, arrays ...serialize.Entry) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	entries := serialize.Entries(arrays...)
	if err := serialize.Save(file, format, serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": config}}); err != nil {
		t.Fatal(err)
	}
	return file
}

func vector(name string, elements ...float32) serialize.Entry {
	return serialize.Entry{Name: name, Array: storage.From(elements, len(elements))}
}

var normalizedWeights = []serialize.Entry{
	vector("shifted/beta", 1, 2, 3), vector("shifted/moving_mean", 0, 0, 0), vector("shifted/moving_variance", 0.999, 0.999, 0.999),
	vector("scaled/gamma", 2, 3, 4),
}

// TestArchitectureNamesWeights converts a file whose weights have names only by the
// architecture beside it, and verifies what is written. Without it they are refused. The
// prediction is that of Keras's formulas.
func TestArchitectureNamesWeights(t *testing.T) {
	file := kerasFile(t, "m.weights.h5", "keras-weights", normalized, normalizedWeights...)
	if _, err := kerasRun(t, file, models.Options{}); !errors.Is(err, keras.ErrConfig) {
		t.Errorf("without the architecture: %v", err)
	}
	o := models.Options{Architecture: architecture(t, "config.json", normalized)}
	for _, format := range []string{"torch", "keras", "keras-weights", "keras-h5"} {
		s, err := models.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := models.New(s, format, o)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		out := filepath.Join(t.TempDir(), "out")
		if err := p.Write(context.Background(), out); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if v, err := p.Verify(context.Background(), out); err != nil || v.Written != len(p.Tensors) || v.Written == 0 {
			t.Errorf("%s: %+v, %v", format, v, err)
		}
	}
	p, err := kerasRun(t, file, o)
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Run(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	predictor, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	out, err := predictor.Predict(storage.From([]float32{-1, -1, 1}, 1, 3))
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read[float64](out)
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{0, 1, 4} // after the batch normalization, whose variance and epsilon are 1 together
	mean := (x[0] + x[1] + x[2]) / 3
	variance := 0.0
	for _, e := range x {
		variance += (e - mean) * (e - mean) / 3
	}
	for i, e := range x {
		want := (e - mean) / math.Sqrt(variance+1e-3) * float64(i+2)
		if math.Abs(got[i]-want) > 1e-6 {
			t.Errorf("prediction %d is %v, want %v", i, got[i], want)
		}
	}
}

// TestNameOfTheOptimizerIsRefused has a layer with the name under which the state of optimizers
// is kept.
func TestNameOfTheOptimizerIsRefused(t *testing.T) {
	config := func(name string) string {
		return `{"class_name": "Sequential", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "name": "in"}},
			{"class_name": "Dense", "config": {"name": "` + name + `", "units": 1, "use_bias": false, "activation": "linear"}}]}}`
	}
	const refused = "the layer optimizer (Dense) has the name"
	weights := kerasFile(t, "m.weights.h5", "keras-weights", config("enc"), serialize.Entry{Name: "enc/kernel", Array: storage.From([]float32{3, 4}, 2, 1)})
	o := models.Options{Architecture: architecture(t, "config.json", config("optimizer"))}
	if _, err := kerasRun(t, weights, o); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("%v; want %s", err, refused)
	}
}

// TestLossesOfArchives writes a compiled model of an .h5 as an archive, where Keras needs the
// module of the loss, and one without an optimizer as an .h5, where Keras needs the optimizer.
func TestLossesOfArchives(t *testing.T) {
	for _, c := range []struct{ format, training, want, not string }{
		{"keras", `{"loss": {"a": {"class_name": "Huber", "config": {"reduction": "auto", "delta": 2.0}}}, "optimizer_config": {"class_name": "SGD", "config": {"learning_rate": 0.1}}}`,
			`{"a":{"class_name":"Huber","config":{"delta":2,"reduction":"sum_over_batch_size"},"module":"keras.losses","registered_name":null}}`, "auto"},
		{"keras-h5", `{"loss": "mse", "metrics": null}`, "", "mse"},
	} {
		entries := serialize.Entries(normalizedWeights...)
		file := filepath.Join(t.TempDir(), "m")
		contents := serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": normalized, "training_config": c.training}}
		if err := serialize.Save(file, c.format, contents); err != nil {
			t.Fatal(err)
		}
		s, err := models.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := s.Meta()["training_config"]; !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: %s; want %s and no %s", c.format, got, c.want, c.not)
		}
	}
}

// TestStateWithoutSettingsIsNamed: weights may have the state of an optimizer that the description
// does not say.
func TestStateWithoutSettingsIsNamed(t *testing.T) {
	const config = `{"class_name": "Sequential", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "name": "in"}},
		{"class_name": "PReLU", "config": {"name": "p"}}]}}`
	file := kerasFile(t, "m.keras", "keras", config, vector("p/alpha", 1, 2, 3), vector("optimizer/0", 5), vector("optimizer/1", 4, 5, 6))
	s, err := models.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = models.New(s, "torch", models.Options{Optimizer: true})
	if err == nil || !strings.Contains(err.Error(), "2 arrays of the state of an optimizer, but not its class and settings") {
		t.Errorf("%v; want an error about the settings", err)
	}
}
