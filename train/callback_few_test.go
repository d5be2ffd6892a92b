package train_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestFewSamples: overfit learns two batches by heart, and fast_dev_run completes a run after one epoch of two batches.
func TestFewSamples(t *testing.T) {
	base := strings.Replace(plain, "seed", "epochs: 40\nbatch: 16\nseed", 1)
	run, data := setUp(t, base+"callbacks: [{overfit: 2}]")
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	if loss, _ := run.History.Last("val_loss"); run.Position.Step != 80 || !(loss < 0.05) {
		t.Errorf("%d steps, loss %v; want 80, and the samples by heart", run.Position.Step, loss)
	}
	run, data = setUp(t, base+"callbacks: [{fast_dev_run: 2}]")
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	if run.Position.Step != 2 || !run.Complete() || len(run.History["val_loss"]) != 1 {
		t.Errorf("position %+v; want one epoch of two steps", run.Position)
	}
}

// TestValidationBetweenEpochs: the loss of a step equals the loss of a run that ends there.
func TestValidationBetweenEpochs(t *testing.T) {
	run, data := setUp(t, settings+"ema: 0.9\ncallbacks: [{validation: {every: 4}}, {limit: {steps: 8}}]")
	var notes []string
	if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnNote: func(text string) error {
		notes = append(notes, text)
		return nil
	}}}}); err != nil {
		t.Fatal(err)
	}
	m, err := run.Evaluate(context.Background(), data.Val)
	if err != nil {
		t.Fatal(err)
	}
	losses := map[string][]float64{}
	for name, a := range train.CallbackState(run) {
		if losses[name], err = storage.Read[float64](a); err != nil {
			t.Fatal(err)
		}
	}
	steps, found := losses["validation/steps"], losses["validation/val_loss"]
	if len(steps) != 2 || steps[1] != 8 || math.Abs(found[1]-m.MeanLoss()) > 1e-6 || len(losses["validation/val_accuracy"]) != 2 {
		t.Errorf("%v; want the loss %v after step 8", losses, m.MeanLoss())
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "step 8: val_loss ") || !strings.Contains(text, "training pauses after step 8: limit: 8 steps") {
		t.Errorf("notes:\n%s", text)
	}
}
