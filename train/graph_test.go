package train_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestGraphsAreTrainedAndResumed trains a network of branches that a configuration
// describes, and resumes it from its file.
func TestGraphsAreTrainedAndResumed(t *testing.T) {
	const graph = `
data: {file: blobs, x: images, y: labels}
model:
  graph:
    nodes:
      - {name: stem, layer: [{conv2d: {out_channels: 4, kernel_size: 3, padding: 1}}, {batchnorm2d: 4}, relu]}
      - {name: block, layer: [{conv2d: {out_channels: 4, kernel_size: 3, padding: 1}}, {batchnorm2d: 4}]}
      - {name: sum, layer: add, from: [stem, block]}
      - {name: head, layer: [relu, {residual: {body: {conv2d: {out_channels: 4, kernel_size: 1}}}}, globalavgpool2d, flatten, {dense: 4}]}
optimizer: {adamw: {lr: 1e-2, groups: [{params: ["*.bias", "*.gamma", "*.beta"], weight_decay: 0}]}}
schedule: {warmup: {steps: 5}}
loss: {cross_entropy: {label_smoothing: 0.05}}
epochs: 12
batch: 16
seed: 3
`
	run, data := setUp(t, graph)
	file := filepath.Join(t.TempDir(), "run.npz")
	if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
		t.Fatal(err)
	}
	losses := run.History["loss"]
	if first, last := losses[0], losses[len(losses)-1]; !(last < 0.8*first) {
		t.Errorf("losses %v; nothing was learned", losses)
	}
	again, err := train.Resume(file, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := again.Model.(*nn.Graph); !ok {
		t.Errorf("resumed as %T", again.Model)
	}
	want := state(t, run)
	for name, values := range state(t, again) {
		if values != want[name] {
			t.Errorf("%s is %.60s after resuming, was %.60s", name, values, want[name])
		}
	}
	summary, err := again.Summary()
	if err != nil || len(summary.Rows) != 11 {
		t.Errorf("summary\n%v%v; want the 11 layers", summary, err)
	}
}
