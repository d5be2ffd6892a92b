package models

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// tolerance is the largest difference between predictions of two frameworks that compute
// the same in float32.
const tolerance = 1e-5

// python runs frameworks.py, or skips the test without both frameworks.
func python(t *testing.T, act, folder string) map[string]float64 {
	t.Helper()
	t.Setenv("KERAS_BACKEND", "torch")
	interpreter := pythontest.Interpreter(t, pythontest.Variable, "torch", "keras")
	out := pythontest.Command(t, exec.Command(interpreter, "testdata/frameworks.py", act, folder))
	errors := map[string]float64{}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		name, text, _ := strings.Cut(line, " ")
		text, _, _ = strings.Cut(text, " ")
		var err error
		if errors[name], err = strconv.ParseFloat(text, 64); text != "" && err != nil {
			t.Fatalf("%s: %s", act, out)
		}
	}
	return errors
}

// convert converts a file with all that its format needs.
func convert(t *testing.T, from, to, format string, o Options) *Plan {
	t.Helper()
	s, err := Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := New(s, format, o)
	if err == nil {
		err = p.Err()
	}
	if err == nil {
		err = p.Write(context.Background(), to)
	}
	if err != nil {
		t.Fatalf("%s to %s: %v", from, to, err)
	}
	if p.Lost.Avoidable() {
		t.Errorf("%s to %s: lost %v", from, to, p.Lost)
	}
	return p
}

var names = []string{"cnn", "lstm", "mlp", "gru", "transformer", "volume"}

// TestFrameworksPredictTheSame converts models of Keras to PyTorch and back, and models
// trained in PyTorch to Keras, and compares the predictions.
func TestFrameworksPredictTheSame(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	python(t, "make", dir)
	for _, name := range names {
		convert(t, at(name+".keras"), at(name+".pt"), "torch", Options{})
		convert(t, at(name+".pt"), at(name+"-back.keras"), "keras", Options{})
	}
	compare(t, "Keras -> PyTorch", python(t, "torch", dir))
	compare(t, "Keras -> PyTorch -> Keras", python(t, "keras", dir))
	python(t, "train", dir)
	for _, name := range names {
		architecture, err := ReadArchitecture(at(name + ".keras"))
		if err != nil {
			t.Fatal(err)
		}
		convert(t, at(name+"-torch.pt"), at(name+"-torch.keras"), "keras", Options{Architecture: architecture})
	}
	compare(t, "PyTorch -> Keras", python(t, "check", dir))
}

// compare prints and checks the largest differences between predictions.
func compare(t *testing.T, what string, differences map[string]float64) {
	t.Helper()
	for _, name := range names {
		got, ok := differences[name]
		fmt.Printf("%-12s %-26s %.1e\n", name, what, got)
		if !ok || !(got < tolerance) {
			t.Errorf("%s: %s: the prediction differs by %v; want less than %v", name, what, got, tolerance)
		}
	}
}

// TestOptimizersGoOn converts the state of optimizers, and compares the prediction after
// one more step in PyTorch with that in Keras; and after one in Keras when it was converted
// back. Epsilon within the root of RMSprop is not
// the same as without.
func TestOptimizersGoOn(t *testing.T) {
	dir := t.TempDir()
	python(t, "begin", dir)
	optimizers := []string{"adam", "amsgrad", "adamw", "sgd", "nesterov", "rmsprop", "adagrad", "adadelta"}
	for _, name := range optimizers {
		convert(t, filepath.Join(dir, name+".keras"), filepath.Join(dir, name+".pt"), "torch", Options{Optimizer: true})
	}
	for _, name := range optimizers {
		convert(t, filepath.Join(dir, name+".pt"), filepath.Join(dir, name+"-back.keras"), "keras", Options{Optimizer: true})
	}
	back := python(t, "goon", dir)
	for _, name := range optimizers {
		got, ok := back[name]
		fmt.Printf("%-12s one step in Keras   %.1e\n", name, got)
		if !ok || !(got < tolerance) {
			t.Errorf("%s: converted back, after one step, the prediction differs by %v; want less than %v", name, got, tolerance)
		}
	}
	after := python(t, "resume", dir)
	for _, name := range optimizers {
		got, ok := after[name]
		fmt.Printf("%-12s one step in PyTorch %.1e\n", name, got)
		most := tolerance
		if name == "rmsprop" {
			most = 1e-3
		}
		if !ok || !(got < most) {
			t.Errorf("%s: after one step, PyTorch's prediction differs from Keras's by %v; want less than %v", name, got, most)
		}
	}
}

// TestOptimizersOfRunsGoOn makes runs of models of Keras with their optimizers, and compares
// the weights after one more step of the run with those of Keras; and after one in Keras
// and in PyTorch, converted from the run.
func TestOptimizersOfRunsGoOn(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	python(t, "begin", dir)
	optimizers := []string{"adam", "amsgrad", "adamw", "sgd", "nesterov", "adadelta"}
	for _, name := range optimizers {
		convert(t, at(name+".keras"), at(name+"-run.npz"), "npz", Options{Framework: "h5dnn", Optimizer: true})
		convert(t, at(name+"-run.npz"), at(name+"-run.pt"), "torch", Options{Optimizer: true})
		convert(t, at(name+"-run.npz"), at(name+"-run.keras"), "keras", Options{Optimizer: true})
		convert(t, at(name+".keras"), at(name+"-keras.pt"), "torch", Options{Optimizer: true})
		sameState(t, at(name+"-run.pt"), at(name+"-keras.pt"))
		if worst := stepOf(t, at(name+"-run.npz"), at(name+"-data.npz")); !(worst < 1e-6) {
			t.Errorf("%s: after one step of the run, a weight differs from Keras's by %v; want less than 1e-6", name, worst)
		} else {
			fmt.Printf("%-12s one step of a run %.1e\n", name, worst)
		}
	}
	after := python(t, "weights", dir)
	for _, name := range optimizers {
		if got, ok := after[name]; !ok || !(got < 1e-6) {
			t.Errorf("%s: converted from a run, after one step a weight differs by %v; want less than 1e-6", name, got)
		} else {
			fmt.Printf("%-12s one step converted from a run %.1e\n", name, got)
		}
	}
}

// stepOf makes one step of the run in a file on the data in an .npz, and returns the
// largest difference of its weights from those that the .npz has.
func stepOf(t *testing.T, file, npz string) float64 {
	t.Helper()
	run, err := train.Resume(file, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	data, err := serialize.Open(npz)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	named := func(name string) storage.Array {
		a, err := serialize.Find(data, name)
		if err == nil {
			a, err = a.To(storage.CPU)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	x, y := named("x"), named("y")
	err = tensor.Step(func(tape *tensor.Tape) error {
		loss := tensor.MeanSquaredError(nn.Call("", run.Model, tape.Input(x))[0], tape.Input(y))
		return run.Optimizer.Step(nn.Parameters(run.Model), tensor.Gradients(loss))
	})
	if err != nil {
		t.Fatal(err)
	}
	worst, compared := 0.0, 0
	for name, p := range nn.Parameters(run.Model) {
		layer, weight, _ := strings.Cut(name, ".")
		if weight == "weight" && layer == "first" {
			continue // its rows are in another order
		}
		want := named(layer + "." + strings.Replace(weight, "weight", "kernel", 1))
		switch {
		case weight == "weight" && want.Rank() == 2:
			want.View, err = want.View.Transpose(1, 0)
		case weight == "weight":
			want.View, err = want.View.Transpose(3, 2, 0, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		worst, compared = max(worst, difference(t, p.Array(), want)), compared+1
	}
	if compared != 5 {
		t.Errorf("%s: %d weights compared; want 5", file, compared)
	}
	return worst
}

// sameState compares the arrays of two files.
func sameState(t *testing.T, a, b string) {
	t.Helper()
	first, err := serialize.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := serialize.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	arrays, err1 := serialize.Collect(first)
	others, err2 := serialize.Collect(second)
	if err1 != nil || err2 != nil || len(arrays) != len(others) {
		t.Fatalf("%s has %d arrays, %s has %d; %v, %v", a, len(arrays), b, len(others), err1, err2)
	}
	for _, e := range arrays {
		want, err := serialize.Find(second, e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if d := difference(t, e.Array, want); d != 0 {
			t.Errorf("%s of %s differs from that of %s by %v", e.Name, a, b, d)
		}
	}
}

// TestRunsPredictAsPyTorch makes a run of a state_dict, predicts with it, and converts it
// back.
func TestRunsPredictAsPyTorch(t *testing.T) {
	dir := t.TempDir()
	python(t, "net", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	architecture, err := ReadArchitecture("testdata/net.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := convert(t, at("net.pt"), at("run.npz"), "npz", Options{Framework: "h5dnn", Architecture: architecture, InputShapes: map[string][]int{"": []int{3, 8, 6}}})
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "num_batches_tracked") {
		t.Errorf("notes %v; want one of the number of batches", plan.Notes)
	}
	run, err := train.Resume(at("run.npz"), storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Predict(read(t, at("net-x.npy")))
	if err != nil {
		t.Fatal(err)
	}
	if most := difference(t, got, read(t, at("net-y.npy"))); !(most < tolerance) {
		t.Errorf("the run's prediction differs from PyTorch's by %v; want less than %v", most, tolerance)
	} else {
		fmt.Printf("%-12s PyTorch -> h5dnn %.1e\n", "net", most)
	}
	convert(t, at("run.npz"), at("net-back.pt"), "torch", Options{})
	if back := python(t, "netback", dir); !(back["net"] == 0) {
		t.Errorf("converted back, PyTorch's prediction differs by %v", back["net"])
	}
}

// read returns the only array of a file, in memory.
func read(t *testing.T, name string) storage.Array {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := serialize.Collect(f)
	if err != nil {
		t.Fatal(err)
	}
	a, err := list[0].Array.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// difference returns the largest difference between elements of two arrays.
func difference(t *testing.T, a, b storage.Array) float64 {
	t.Helper()
	x, err1 := storage.Read[float64](a)
	y, err2 := storage.Read[float64](b)
	if err1 != nil || err2 != nil || len(x) != len(y) || len(x) == 0 {
		t.Fatalf("%v and %v: %v, %v", a, b, err1, err2)
	}
	most := 0.0
	for i := range x {
		if d := math.Abs(x[i] - y[i]); !(d <= most) {
			most = d
		}
	}
	return most
}
