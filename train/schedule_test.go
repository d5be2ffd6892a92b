package train_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestScheduleStateIsResumed interrupts runs whose learning rate follows the loss,
// around the ends of epochs.
func TestScheduleStateIsResumed(t *testing.T) {
	const following = settings + `
schedule: {plateau: {patience: 0, gamma: 0.5, threshold: 0.9}}
`
	whole, data := setUp(t, following)
	whole.Config.Epochs = 4
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state(t, whole)
	if rates := whole.History["lr"]; rates[3] >= rates[0] {
		t.Fatalf("learning rates %v; want them to decrease", rates)
	}
	for _, stop := range []int{9, 10, 11, 25, 30} {
		run, data := setUp(t, following)
		run.Config.Epochs = 4
		again := interrupted(t, run, data, stop)
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, fmt.Sprintf("stopped after step %d", stop), state(t, again), want)
	}
}

// TestOneCycleIsPyTorchsStepByStep compares 80 steps of 10 epochs, whose last steps are full or partial
// (nn/testdata/schedules.py).
func TestOneCycleIsPyTorchsStepByStep(t *testing.T) {
	text, err := os.ReadFile("../nn/testdata/schedules.json")
	if err != nil {
		t.Fatal(err)
	}
	var schedules map[string][]float64
	if err := json.Unmarshal(text, &schedules); err != nil {
		t.Fatal(err)
	}
	want := schedules[`"one_cycle"`]
	for _, samples := range []int{32, 29} {
		c, err := train.ParseConfig([]byte("data: {file: none, x: images, y: labels}\nmodel: mlp\nschedule: one_cycle\noptimizer: {sgd: {lr: 1}}\nepochs: 10\nbatch: 4\n"))
		if err != nil {
			t.Fatal(err)
		}
		x, y := blobs(samples)
		data, err := train.NewData(c, train.Arrays{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		var rates []float64
		follow := train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			rates = append(rates, run.Optimizer.Rate())
			return nil
		}}
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{follow}}); err != nil {
			t.Fatal(err)
		}
		if len(rates) != len(want) {
			t.Fatalf("%d samples: %d steps, want %d", samples, len(rates), len(want))
		}
		for step, rate := range rates {
			if math.Abs(rate-want[step]) > 1e-12 {
				t.Errorf("%d samples: rate %v at step %d, PyTorch %v", samples, rate, step, want[step])
			}
		}
	}
}
