package train_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// withMetrics has one metric of a single number and one of many.
const withMetrics = light + "metrics: [accuracy, {top_k: 2}, confusion_matrix]\n"

// TestMetricsHaveState trains with a confusion matrix on the CPU and in every mode on a GPU:
// its diagonal is what the accuracy counts, in training and in validation.
func TestMetricsHaveState(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range append([]mode{{}}, modes...) {
		var d storage.Device = storage.CPU
		if w.graph != "" {
			d = gpu
		}
		epochs := 0
		run := fitted(t, d, w, withMetrics, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error {
			epochs++
			for about, m := range map[string]train.Metrics{"training": e.Train, "validation": *e.Val} {
				matrix, total, correct := storage.Elements[float64](m.Values["confusion_matrix"]), 0.0, 0.0
				for i, n := range matrix {
					total += n
					if i%5 == 0 { // of 4 by 4
						correct += n
					}
				}
				if len(matrix) != 16 || int(total) != m.Samples || int(correct) != m.Correct {
					t.Errorf("%v, %v, %s: confusion matrix %v of %d samples, %d of them correct", d, w, about, matrix, m.Samples, m.Correct)
				}
			}
			return nil
		}}}})
		if epochs != 2 {
			t.Fatalf("%d epochs", epochs)
		}
		for _, name := range []string{"accuracy", "val_accuracy", "top_k", "val_top_k"} {
			if got := run.History[name]; len(got) != 2 || !(got[1] > 0.2 && got[1] <= 1) {
				t.Errorf("%v, %v: %s of the epochs is %v", d, w, name, got)
			}
		}
	}
}

// TestMetricsResume interrupts an epoch; its confusion matrix is of all its samples.
func TestMetricsResume(t *testing.T) {
	run, data := newRun(t, storage.CPU, mode{}, withMetrics)
	file := filepath.Join(t.TempDir(), "run.npz")
	ctx, cancel := context.WithCancel(context.Background())
	err := run.Fit(ctx, data, train.Options{File: file, Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		if run.Position.Step == 3 {
			cancel()
		}
		return nil
	}}}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again, err := train.Resume(file, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	first := true
	err = again.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error {
		total := 0.0
		for _, n := range storage.Elements[float64](e.Train.Values["confusion_matrix"]) {
			total += n
		}
		if first && total != 150 {
			t.Errorf("the resumed epoch's confusion matrix counts %v samples; want 150", total)
		}
		first = false
		return nil
	}}}})
	if err != nil || first {
		t.Fatal(err)
	}
}

// TestLossesAndSchedulesHaveSettings in configurations.
func TestLossesAndSchedulesHaveSettings(t *testing.T) {
	base := fitted(t, storage.CPU, mode{}, plain+"batch: 32", train.Options{})
	for _, extra := range []string{"loss: {cross_entropy: {label_smoothing: 0.1}}", "loss: cross_entropy\nmetrics: [{top_k: 2}]"} {
		run := fitted(t, storage.CPU, mode{}, plain+"batch: 32\n"+extra, train.Options{})
		if same := fmt.Sprint(weightsOf(t, run)) == fmt.Sprint(weightsOf(t, base)); same != (extra[6] == 'c') || !run.Classifies() {
			t.Errorf("%s: same weights %v, classifies %v", extra, same, run.Classifies())
		}
	}
}
