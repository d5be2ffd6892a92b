package train_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

const averaging = settings + "ema: 0.9\n"

// TestAveragesFollowTheParameters computes the averages by hand after each step, on a
// CPU and with captured steps, and compares the predictor's parameters with them.
func TestAveragesFollowTheParameters(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		c, err := train.ParseConfig([]byte(averaging))
		if err != nil {
			t.Fatal(err)
		}
		x, y := blobs(48)
		data, err := train.NewData(c, train.Arrays{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err != nil {
			t.Fatal(err)
		}
		weight := maps.Collect(nn.Params(run.Model))["6.weight"]
		values := func() []float32 { return slices.Clone(tensor.Values[float32](weight.Tensor)) }
		want := values()
		follow := train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			for i, v := range values() {
				want[i] += (v - want[i]) * (1 - 0.9)
			}
			return nil
		}}
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{follow}}); err != nil {
			t.Fatal(err)
		}
		trained := values()
		if _, err := run.Predictor(); err != nil {
			t.Fatal(err)
		}
		for i, got := range values() {
			if diff := got - want[i]; diff > 1e-5 || diff < -1e-5 {
				t.Fatalf("%v: average %v of element %d, want %v; the parameter is %v", d, got, i, want[i], trained[i])
			}
		}
		if slices.Equal(values(), trained) {
			t.Errorf("%v: the averages are the parameters", d)
		}
	}
}

// TestAveragesAreResumed interrupts runs, within an epoch and at its end.
func TestAveragesAreResumed(t *testing.T) {
	finish := func(run *train.Run, data *train.Data) map[string]string {
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		all := state(t, run)
		if _, err := run.Predictor(); err != nil {
			t.Fatal(err)
		}
		for name, values := range state(t, run) {
			all["averaged/"+name] = values
		}
		return all
	}
	whole, data := setUp(t, averaging)
	want := finish(whole, data)
	if want["averaged/model/6.weight"] == want["model/6.weight"] {
		t.Error("the averages are the parameters")
	}
	for _, stop := range []int{1, 10, 14} {
		run, data := setUp(t, averaging)
		file := filepath.Join(t.TempDir(), "run.npz")
		ctx, cancel := context.WithCancel(context.Background())
		err := run.Fit(ctx, data, train.Options{File: file, Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			if int(run.Position.Step) == stop {
				cancel()
			}
			return nil
		}}}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after step %d: error %v, want that it was cancelled", stop, err)
		}
		again, err := train.Resume(file, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		got := finish(again, data)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Fatalf("stopped after step %d: %s ended as %.80s, undisturbed %.80s", stop, name, got[name], want[name])
			}
		}
	}
}
