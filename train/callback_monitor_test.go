package train_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// bouncing is a run whose loss rises and falls.
const bouncing = `
data: {file: blobs, x: images, y: labels}
model: [flatten, {dense: 6}, {batchnorm1d: {num_features: 6}}, relu, {dense: 4}]
optimizer: {sgd: {lr: 8, momentum: 0.95}}
schedule: constant
ema: 0.1
epochs: 12
batch: 50
seed: 3
`

// TestEarlyStoppingRestoresTheBest: the run ends after as many epochs without improvement as patience says, and evaluates to the
// best loss.
func TestEarlyStoppingRestoresTheBest(t *testing.T) {
	whole, data := setUp(t, bouncing)
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	free := whole.History["val_loss"]
	if best := slices.Index(free, slices.Min(free)); best == 0 || best > 8 {
		t.Fatalf("losses %v; want that they rise at the end", free)
	}
	for _, c := range []struct {
		patience int
		settings string
	}{{2, ""}, {100, ""}, {1, ", keep_last: true"}, {1, ", monitor: val_accuracy, min_delta: 0.01"}} {
		run, data := setUp(t, fmt.Sprintf("%scallbacks: [{early_stopping: {patience: %d%s}}]", bouncing, c.patience, c.settings))
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		losses := run.History["val_loss"]
		if !slices.Equal(losses, free[:len(losses)]) || !run.Complete() {
			t.Errorf("losses %v, without early stopping %v", losses, free)
		}
		best := slices.Index(losses, slices.Min(losses))
		end := min(12, best+1+c.patience)
		if c.settings == "" && (len(losses) != end || end < 12 && run.Position.Stopped == "") {
			t.Errorf("patience %d: %d epochs of losses %v, stopped %q", c.patience, len(losses), losses, run.Position.Stopped)
		}
		m, err := run.Evaluate(context.Background(), data.Val)
		if err != nil {
			t.Fatal(err)
		}
		want := losses[best]
		if strings.Contains(c.settings, "keep_last") {
			want = losses[len(losses)-1]
		} else if c.settings != "" {
			accuracies := run.History["val_accuracy"]
			want = losses[slices.Index(accuracies, slices.Max(accuracies))]
		}
		if math.Abs(m.MeanLoss()-want) > 1e-6 {
			t.Errorf("patience %d%s: evaluates to %v, want %v of %v", c.patience, c.settings, m.MeanLoss(), want, losses)
		}
	}
	for text, want := range map[string]string{
		"{monitor: val_f1}": "no number val_f1 to monitor; it has [accuracy loss val_accuracy val_loss]",
		"{mode: most}":      `mode "most"; want min or max`,
		"{patience: -1}":    "patience -1",
		"{patients: 1}":     "did you mean patience?",
	} {
		c, err := train.ParseConfig([]byte(bouncing + "callbacks: [{early_stopping: " + text + "}]"))
		if err == nil {
			run, data := setUp(t, bouncing)
			run.Config = c
			err = run.Fit(context.Background(), data, train.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestCheckpointsKeepTheBest and the last: the files hold the epochs with the lowest losses, also where the run is saved
// by steps, and where early stopping gives the run other weights at its end.
func TestCheckpointsKeepTheBest(t *testing.T) {
	for _, extra := range []string{"", "save_every: 7steps\n", "save_every: 1h\n"} {
		folder := t.TempDir()
		file := filepath.Join(folder, "run.npz")
		run, data := setUp(t, bouncing+extra+"callbacks: [{checkpoint: {best: 2}}, {early_stopping: {patience: 3}}]")
		if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
			t.Fatal(err)
		}
		losses, want := run.History["val_loss"], map[string]float64{}
		for range 2 {
			best := slices.Index(losses, slices.Min(losses))
			want[fmt.Sprintf("run-step%d.npz", 3*(best+1))] = losses[best]
			losses = slices.Clone(losses)
			losses[best] = math.Inf(1)
		}
		names := files(t, folder)
		delete(names, "run.npz")
		if len(names) != 2 {
			t.Errorf("%q: %v; want 2 kept files", extra, names)
		}
		for name, loss := range want {
			kept, err := train.Resume(filepath.Join(folder, name), storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			m, err := kept.Evaluate(context.Background(), data.Val)
			if err != nil || math.Abs(m.MeanLoss()-loss) > 1e-6 {
				t.Errorf("%q: %s evaluates to %v, want %v, %v", extra, name, m.MeanLoss(), loss, err)
			}
		}
	}
}
