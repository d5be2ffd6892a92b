package models_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// frozenByKeras are the layers of testdata/frozen.keras that are not trained, by the beginning of the names of their parameters in a run.
var frozenByKeras = []string{"base_conv.", "base_norm.", "inner_first.", "each.", "cells_cell0."}

// TestFrozenLayersStayInRuns trains a model of Keras with frozen layers as Keras has trained it. Frozen are a model in it, a layer of a trained
// model, and layers within a TimeDistributed, a Bidirectional and an RNN.
func TestFrozenLayersStayInRuns(t *testing.T) {
	run, err := frozenRun(t).Run(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]float32{}
	for name, a := range nn.StateDict(run.Model) {
		before[name] = slices.Clone(storage.Elements[float32](a))
	}
	stored, err := serialize.Open("testdata/frozen.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	array := func(name string) storage.Array {
		a, err := serialize.Find(stored, name)
		if err == nil {
			a, err = a.To(storage.CPU)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	samples, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: array("x")}, dataset.NamedArray{Name: "y", Array: array("y"), Role: dataset.Target})
	if err != nil {
		t.Fatal(err)
	}
	loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := storage.Elements[float32](array("losses"))
	history, err := train.Fit(context.Background(), run.Model, nn.MSELoss{}, run.Optimizer, loader, train.FitOptions{Epochs: len(want)})
	if err != nil {
		t.Fatal(err)
	}
	for i, loss := range history["loss"] {
		if math.Abs(loss-float64(want[i])) > 1e-5 {
			t.Errorf("epoch %d: loss %v; Keras has %v", i+1, loss, want[i])
		}
	}
	for name, p := range nn.Parameters(run.Model) {
		stays := slices.ContainsFunc(frozenByKeras, func(layer string) bool { return strings.HasPrefix(name, layer) }) ||
			strings.HasPrefix(name, "both.") && !strings.HasSuffix(name, "_reverse") || // of both directions, the one forward
			strings.Contains(name, ".bias_hh_l0") || name == "unscaled.gamma" || name == "uncentered.beta" // which Keras does not have
		if got := slices.Equal(before[name], storage.Elements[float32](p.Array())); got != stays {
			t.Errorf("%s stays as it is: %v; want %v", name, got, stays)
		}
	}
}

// frozenRun returns the plan of a run of testdata/frozen.keras.
func frozenRun(t *testing.T) *models.Plan {
	t.Helper()
	plan, err := kerasRun(t, "testdata/frozen.keras", models.Options{Optimizer: true})
	if err != nil {
		t.Fatal(err)
	}
	if note := "16 parameters are of layers that are not trained"; !strings.Contains(strings.Join(plan.Notes, "\n"), note) {
		t.Errorf("notes %q; want one that %s", plan.Notes, note)
	}
	return plan
}

// TestFrozenLayersBackInKeras converts that run to Keras, and names the layers that Keras trains otherwise.
func TestFrozenLayersBackInKeras(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.h5")
	if err := frozenRun(t).Write(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	source, err := models.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := models.New(source, "keras", models.Options{Optimizer: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := "the run does not: both, unscaled, uncentered"; !slices.ContainsFunc(plan.Notes, func(note string) bool { return strings.HasSuffix(note, want) }) {
		t.Errorf("notes %q; want %q", plan.Notes, want)
	}
	if slices.ContainsFunc(plan.Lost, func(i loss.Item) bool { return i.Path == "optimizer/groups" }) {
		t.Errorf("lost: %v", plan.Lost)
	}
	out := filepath.Join(t.TempDir(), "back.keras")
	if err := plan.Write(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	back, err := models.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	var frozen []string
	for path, l := range back.Model.All() {
		if l.Config["trainable"] == false {
			frozen = append(frozen, path)
		}
	}
	if want := []string{"base_conv", "base_norm", "inner_first", "each", "cells_cell0"}; !slices.Equal(frozen, want) {
		t.Errorf("not trained: %q; want %q", frozen, want)
	}
}
