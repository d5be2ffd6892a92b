package train_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// The number of samples in a batch, and in all.
const some, many = 16, 200

// TestMissingWaitsInReadingAreDetected evaluates and predicts on a GPU, as late as
// possible and by goroutines, and with each wait left out: then results must differ.
func TestMissingWaitsInReadingAreDetected(t *testing.T) {
	want := read(t, cudatest.Deferred, func(*faultyDevice) {})
	if got := read(t, cudatest.Async, func(*faultyDevice) {}); got != want {
		t.Errorf("by goroutines %q; want %q", got, want)
	}
	for flaw, of := range map[string]struct {
		fault func(*faultyDevice)
		who   int
	}{
		"copies do not wait for work":          {func(d *faultyDevice) { d.copies = true }, evaluating},
		"the host does not wait to write anew": {func(d *faultyDevice) { d.host = true }, evaluating},
		"work does not wait for copies":        {func(d *faultyDevice) { d.work = true }, predicting},
	} {
		if got := read(t, cudatest.Deferred, of.fault); got[of.who] == want[of.who] {
			t.Errorf("%s: not detected", flaw)
		}
	}
}

const (
	evaluating = iota
	predicting
)

// read returns the results of evaluation and prediction on a faulty device.
func read(t *testing.T, schedule cudatest.Schedule, fault func(*faultyDevice)) (results [2]string) {
	x, y := blobs(many)
	d := faultyDevice{Device: cudatest.Devices(t, schedule)[0]}
	fault(&d)
	data, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x}, dataset.NamedArray{Name: "y", Array: y, Role: dataset.Target})
	if err != nil {
		t.Fatal(err)
	}
	run, _ := newRun(t, d.Device, mode{}, light)
	run.Device = d
	metrics, err := train.EvaluateBy(some, run, data)
	results[evaluating] = fmt.Sprint(metrics, err)
	cudatest.Reset()
	predictions, err := predicted(run, x)
	results[predicting] = fmt.Sprint(predictions, err)
	cudatest.Reset()
	return results
}

// predicted returns the predictions of a run for x.
func predicted(run *train.Run, x storage.Array) (predictions []float32, err error) {
	data, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
	if err != nil {
		return nil, err
	}
	p, err := run.Predictor()
	if err != nil {
		return nil, err
	}
	p.BatchSize = some
	for out, err := range p.Stream(context.Background(), data, dataset.Options{}) {
		if err != nil {
			return nil, err
		}
		numbers, err := storage.Read[float32](out)
		if err != nil {
			return nil, err
		}
		predictions = append(predictions, numbers...)
	}
	return predictions, nil
}

// TestPredictionsStreamAlike expects the predictions of the CPU from a GPU that computes while
// samples are copied to it.
func TestPredictionsStreamAlike(t *testing.T) {
	x, _ := blobs(many)
	var predictions [][]float32
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		run, _ := newRun(t, d, mode{}, light)
		all, err := predicted(run, x)
		if err != nil || len(all) != 4*many {
			t.Fatalf("%v: %d numbers, %v", d, len(all), err)
		}
		predictions = append(predictions, all)
	}
	for i, want := range predictions[0] {
		if got := predictions[1][i]; !(abs(got-want) <= 1e-5*(1+abs(want))) { // sums of 64 products, in another order
			t.Fatalf("number %d: %v on a GPU, %v on the CPU", i, got, want)
		}
	}
}

func abs(x float32) float32 { return max(x, -x) }

// TestLeavingPredictionsLeavesNothingOpen ends the iteration early.
func TestLeavingPredictionsLeavesNothingOpen(t *testing.T) {
	x, _ := blobs(many)
	data, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: x})
	if err != nil {
		t.Fatal(err)
	}
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	run, _ := newRun(t, gpu, mode{}, light)
	d := &countingDevice{Device: gpu, left: 100, most: 1 << 20}
	run.Device = d
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	p.BatchSize = some
	var first []storage.Array
	for out, err := range p.Stream(context.Background(), data, dataset.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if first = slices.Insert(first, 0, out); len(first) == 2 {
			break
		}
	}
	if d.open != 0 || d.left == 100 {
		t.Errorf("%d are left open of %d", d.open, 100-d.left)
	}
}
