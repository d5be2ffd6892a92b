package nn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestLabelsThatAreNoClassAreErrors tries every loss and metric of labels, on both devices: the error
// names the first row and its label. A label to ignore is accepted.
func TestLabelsThatAreNoClassAreErrors(t *testing.T) {
	losses := []string{
		`"cross_entropy"`, `{"cross_entropy": {"label_smoothing": 0.1}}`, `{"cross_entropy": {"class_weights": [1, 2, 3]}}`,
		`{"cross_entropy": {"reduction": "sum"}}`, `{"cross_entropy": {"ignore_index": 1}}`, `"nll"`, `{"nll": {"ignore_index": 0}}`,
		`"focal"`, `{"dice": {"ignore_index": 1}}`, `"tversky"`, `"multi_margin"`,
	}
	metrics := []string{`"accuracy"`, `{"top_k": 2}`, `"confusion_matrix"`, `{"accuracy": {"ignore_index": 1}}`, `{"confusion_matrix": {"ignore_index": 0}}`,
		`"precision"`, `{"iou": {"ignore_index": 1}}`, `"auc"`, `"perplexity"`}
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		x, weights := tensor.FromArray(to(t, d, storage.From([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3))), tensor.FromArray(to(t, d, storage.From([]float64{1, 0, 2}, 3)))
		call := func(description string, labels, weights *tensor.Tensor) error {
			loss, err := nn.LossFromConfig(json.RawMessage(description))
			if err != nil {
				metric, err := nn.MetricFromConfig(json.RawMessage(description))
				if err != nil {
					t.Fatal(err)
				}
				return synced(d, func() { metric.Update(x, labels, weights) })
			}
			return synced(d, func() { loss.Forward(x, labels, weights) })
		}
		for _, description := range append(losses, metrics...) {
			for _, bad := range []int64{-1, 3, -1 << 40} {
				labels := tensor.FromArray(to(t, d, storage.From([]int64{0, bad, 2}, 3)))
				want := fmt.Sprintf("row 1 has label %d; want 0 to 2", bad)
				for _, w := range []*tensor.Tensor{nil, weights} {
					if err := call(description, labels, w); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s on %v: error %v, want one with %q", description, d, err, want)
					}
				}
			}
			good := tensor.FromArray(to(t, d, storage.From([]int64{0, 1, 2}, 3)))
			if err := call(description, good, nil); err != nil {
				t.Errorf("%s on %v: %v", description, d, err)
			}
		}
		padded := tensor.FromArray(to(t, d, storage.From([]int64{0, -100, 2}, 3)))
		for _, name := range []string{"cross_entropy", "nll", "accuracy", "top_k", "confusion_matrix"} {
			if err := call(fmt.Sprintf(`{"%s": {"ignore_index": -100}}`, name), padded, nil); err != nil {
				t.Errorf("%s on %v: %v of a label to ignore", name, d, err)
			}
		}
	}
}

// synced returns the error of f, or that of what it started on d.
func synced(d storage.Device, f func()) error {
	if err := tensor.Try(f); err != nil {
		return err
	}
	return d.Sync()
}

func to(t *testing.T, d storage.Device, a storage.Array) storage.Array {
	t.Helper()
	moved, err := a.To(d)
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

// TestLossesAndMetricsOnBothDevices computes the fixtures on a GPU.
func TestLossesAndMetricsOnBothDevices(t *testing.T) {
	d, exact := cudatest.Devices(t, cudatest.Deferred)[0], precision{dtype.Float64, 1e-9}
	o := openFile(t, "testdata/losses.npz")
	for key := range o {
		if description, ok := strings.CutSuffix(key, "/x"); ok {
			value, grad := lossAndGrad(t, lossFrom(t, description), to(t, d, o[key]), to(t, d, o[description+"/y"]), nil)
			near(t, exact, description, append(grad, value), append(tensor.Values[float64](tensor.FromArray(o[description+"/dx"])), tensor.FromArray(o[description+"/value"]).Item()))
		}
	}
	o = openFile(t, "testdata/metrics.npz")
	for key := range o {
		if description, ok := strings.CutSuffix(key, "/x"); ok {
			m := metricFrom(t, description)
			m.Update(tensor.FromArray(to(t, d, o[key])), tensor.FromArray(to(t, d, o[description+"/y"])), nil)
			got, err := m.Result()
			if err != nil {
				t.Fatal(err)
			}
			near(t, precision{dtype.Float64, 1e-6}, description, storage.Elements[float64](got), tensor.Values[float64](tensor.FromArray(o[description+"/value"])))
		}
	}
}

// TestSequencesOfCTCAreLabelsThenPadding has a blank among labels, and a label after padding, on both devices.
func TestSequencesOfCTCAreLabelsThenPadding(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		x := tensor.FromArray(to(t, d, storage.From(make([]float32, 2*4*7), 2, 4, 7)))
		for description, padding := range map[string]int64{`"ctc"`: -1, `{"ctc": {"padding": 0}}`: 0} {
			loss, err := nn.LossFromConfig(json.RawMessage(description))
			if err != nil {
				t.Fatal(err)
			}
			call := func(labels ...int64) error {
				return synced(d, func() { loss.Forward(x, tensor.FromArray(to(t, d, storage.From(labels, 2, 3))), nil) })
			}
			if err := call(1, 2, 3, 3, padding, padding); err != nil {
				t.Errorf("%s on %v: %v", description, d, err)
			}
			if err := call(1, 2, 3, 1, padding, 2); err == nil || d == storage.CPU && !strings.Contains(err.Error(), "sequence 1 has label 2 at 2; want classes other than the blank 0") {
				t.Errorf("%s on %v: error %v of a label after padding", description, d, err)
			}
			if err := call(1, 2, 3, 1, 0, 2); err == nil {
				t.Errorf("%s on %v: a blank among labels is no error", description, d)
			}
		}
	}
}
