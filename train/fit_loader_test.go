package train_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// floats is n blobs as rows of floats near 1, with their labels.
func floats(n int) (x, y storage.Array) {
	images, y := blobs(n)
	rows := make([]float32, n*64)
	for i, p := range storage.Elements[uint8](images) {
		rows[i] = float32(p) / 64
	}
	return storage.From(rows, n, 64), y
}

// ExampleFit trains a model that was made in Go, from arrays.
func ExampleFit() {
	x, y := floats(500) // as package storage/hdf5 would open them
	all, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x}, dataset.NamedArray{Name: "y", Array: y, Role: dataset.Target})
	if err != nil {
		fmt.Println(err)
		return
	}
	samples, val, err := dataset.Split(all, 0.2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 32, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := nn.Sequential{
		nn.NewLinear(nn.LinearOptions{InFeatures: 64, OutFeatures: 16}),
		nn.ReLU{},
		nn.NewLinear(nn.LinearOptions{InFeatures: 16, OutFeatures: 4}),
	}
	nn.Init(model, 1)
	history, err := train.Fit(context.Background(), model, nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), nn.NewAdam(nn.AdamOptions{LearningRate: 1e-2}),
		loader, train.FitOptions{Epochs: 5, Val: val})
	accuracy, _ := history.Last("val_accuracy")
	fmt.Println(len(history["loss"]), accuracy, err)
	// Output: 5 1 <nil>
}

// TestFitIsARunWithoutAConfiguration compares the two, to the last bit.
func TestFitIsARunWithoutAConfiguration(t *testing.T) {
	const text = `
data: {file: none, x: x, y: y, normalize: none}
model: [{dense: 12}, {dropout: 0.2}, tanh, {dense: 4}]
optimizer: {adam: {lr: 1e-2}}
schedule: constant
classes: 4
batch: 32
epochs: 2
seed: 7
metrics: [{top_k: 2}]
`
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	x, y := floats(150)
	for _, w := range append([]mode{{}}, modes...) {
		var d storage.Device = storage.CPU
		if w.graph != "" {
			d = gpu
		}
		c, err := train.ParseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.Graph, c.Data.Resident = w.graph, w.resident
		data, err := train.NewData(c, train.Arrays{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		var runs [2]*train.Run
		for i := range runs {
			if runs[i], err = train.New(context.Background(), c, data, d); err != nil {
				t.Fatal(err)
			}
		}
		if err := runs[0].Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		loader, err := dataset.NewLoader(data.Train, dataset.Options{BatchSize: 32, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		history, err := train.Fit(context.Background(), runs[1].Model, nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), runs[1].Optimizer, loader,
			train.FitOptions{Epochs: 2, Seed: 7, Graph: w.graph, Resident: w.resident, Metrics: c.Metrics})
		if err != nil {
			t.Fatalf("%v, %v: %v", d, w, err)
		}
		if got, want := fmt.Sprint(weightsOf(t, runs[1])), fmt.Sprint(weightsOf(t, runs[0])); got != want {
			t.Errorf("%v, %v: other weights", d, w)
		}
		for _, name := range []string{"loss", "accuracy", "top_k"} {
			if got, want := fmt.Sprint(history[name]), fmt.Sprint(runs[0].History[name]); got != want || len(history[name]) != 2 {
				t.Errorf("%v, %v: %s is %s, want %s", d, w, name, got, want)
			}
		}
	}
}

// TestFitDropsLastBatches where the loader does: an accumulating update is made by the last
// batch that there is.
func TestFitDropsLastBatches(t *testing.T) {
	x, y := floats(150)
	samples, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x}, dataset.NamedArray{Name: "y", Array: y, Role: dataset.Target})
	if err != nil {
		t.Fatal(err)
	}
	loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 40, DropLast: true})
	if err != nil {
		t.Fatal(err)
	}
	model := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 64, OutFeatures: 4})}
	o, steps := nn.NewSGD(nn.SGDOptions{LearningRate: 0.1}), 0
	_, err = train.Fit(context.Background(), model, nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), o, loader, train.FitOptions{
		Hooks: []train.Hook{train.Accumulate(2)}, Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error { steps++; return nil }}},
	})
	if err != nil || steps != 3 || o.Steps() != 2 {
		t.Errorf("%d batches, %d updates, error %v; want 3 and 2", steps, o.Steps(), err)
	}
}

// TestFitRefuses what it cannot train on.
func TestFitRefuses(t *testing.T) {
	x, _ := floats(20)
	samples, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
	if err != nil {
		t.Fatal(err)
	}
	loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	model := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 64, OutFeatures: 4})}
	fit := func(o train.FitOptions) error {
		_, err := train.Fit(context.Background(), model, nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), nn.NewSGD(nn.SGDOptions{LearningRate: 0.1}), loader, o)
		return err
	}
	for want, o := range map[string]train.FitOptions{
		"no targets":            {},
		`no precision "int4"`:   {Precision: "int4"},
		"metrics":               {Metrics: []any{"accuracie"}},
		"does not capture step": {Graph: "yes"},
		"train: -1 epochs":      {Epochs: -1},
	} {
		if err := fit(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := fit(train.FitOptions{Resident: "yes"}); !errors.Is(err, storage.ErrDevice) {
		t.Errorf("error %v", err)
	}
}

// TestFitRefusesNil arguments before it touches any.
func TestFitRefusesNil(t *testing.T) {
	loss, o := nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), nn.NewSGD(nn.SGDOptions{})
	for want, fit := range map[string]func() (train.History, error){
		"no model": func() (train.History, error) { return train.Fit(t.Context(), nil, loss, o, nil, train.FitOptions{}) },
		"no loss": func() (train.History, error) {
			return train.Fit(t.Context(), nn.ReLU{}, nil, o, nil, train.FitOptions{})
		},
		"no optimizer": func() (train.History, error) {
			return train.Fit(t.Context(), nn.ReLU{}, loss, (*nn.SGD)(nil), nil, train.FitOptions{})
		},
		"no loader": func() (train.History, error) {
			return train.Fit(t.Context(), nn.ReLU{}, loss, o, nil, train.FitOptions{})
		},
	} {
		if _, err := fit(); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestFitResumes: one call begins or resumes a run that is interrupted after any step, with the state of the optimizer, of callbacks
// and of hooks, and gives the bits of one that is not.
func TestFitResumes(t *testing.T) {
	x, y := floats(150)
	samples, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x}, dataset.NamedArray{Name: "y", Array: y, Role: dataset.Target})
	if err != nil {
		t.Fatal(err)
	}
	var weights string
	fit := func(file string, seed uint64, stop uint64) (train.History, error) {
		loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 16, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		model := nn.Sequential{
			nn.NewLinear(nn.LinearOptions{InFeatures: 64, OutFeatures: 8}), nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 8}), nn.NewDropout(nn.DropoutOptions{P: 0.2}),
			nn.NewLinear(nn.LinearOptions{InFeatures: 8, OutFeatures: 4}),
		}
		nn.Init(model, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		history, err := train.Fit(ctx, model, nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), nn.NewAdam(nn.AdamOptions{LearningRate: 1e-2}), loader, train.FitOptions{
			Epochs: 3, Seed: 5, Metrics: []any{"confusion_matrix"}, File: file, Resume: true, Hooks: []train.Hook{train.Accumulate(3)}, Schedule: nn.LinearSchedule{},
			Callbacks: []train.Callback{
				&outside{outsideOptions: outsideOptions{Every: 2}}, train.NewEarlyStopping(train.EarlyStoppingOptions{Monitor: "loss", MinDelta: 0.2, Patience: 2}),
				train.CallbackFuncs{OnProgress: func(p train.Progress) error {
					if p.Step == stop {
						cancel()
					}
					return nil
				}},
			},
		})
		weights = ""
		for name, a := range nn.StateDict(model) {
			weights += fmt.Sprint(name, storage.Elements[float32](a))
		}
		return history, err
	}
	want, err := fit(filepath.Join(t.TempDir(), "whole.npz"), 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	delete(want, "seconds")
	end := weights
	for _, stop := range []uint64{1, 5, 9, 10, 17} {
		file := filepath.Join(t.TempDir(), "run.npz")
		if _, err := fit(file, 7, stop); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := fit(file, 8, 0); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "loader seed 8") {
			t.Errorf("another order of samples: %v", err)
		}
		got, err := fit(file, 7, 0)
		if err != nil {
			t.Fatal(err)
		}
		delete(got, "seconds")
		if fmt.Sprint(got) != fmt.Sprint(want) || weights != end {
			t.Errorf("stopped after step %d: history %v, want %v; same weights %v", stop, got, want, weights == end)
		}
	}
}

// TestFitWeighsAccuracy: wrong labels of samples of weight 0 do not count in it.
func TestFitWeighsAccuracy(t *testing.T) {
	accuracy := func(label int64) string {
		samples, err := dataset.FromArrays(
			dataset.NamedArray{Name: "x", Array: storage.From([]float32{1, 0, 0, 1, 1, 1}, 3, 2)},
			dataset.NamedArray{Name: "y", Array: storage.From([]int64{0, 1, label}, 3), Role: dataset.Target},
			dataset.NamedArray{Name: "w", Array: storage.From([]float32{1, 2, 0}, 3), Role: dataset.Weight})
		if err != nil {
			t.Fatal(err)
		}
		loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 3})
		if err != nil {
			t.Fatal(err)
		}
		model := nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2})
		nn.Init(model, 1)
		history, err := train.Fit(context.Background(), model, nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{}), nn.NewSGD(nn.SGDOptions{LearningRate: 0.1}), loader, train.FitOptions{Epochs: 2})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(history["accuracy"])
	}
	if a, b := accuracy(0), accuracy(1); a != b || a == "[]" {
		t.Errorf("accuracies %s and %s with another label of weight 0", a, b)
	}
}
