package train_test

import (
	"context"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// example is the model of PyTorch's examples/mnist.
const example = `
  - conv2d: {out_channels: 32, kernel_size: 3}
  - relu
  - conv2d: {out_channels: 64, kernel_size: 3}
  - relu
  - maxpool2d: 2
  - dropout: 0.25
  - flatten
  - dense: 128
  - relu
  - dropout: 0.5
  - dense: 10
optimizer: {sgd: {lr: 1e-2}}
`

// TestStepsAreFewLaunches holds recorded steps, of samples that stay on the device, to
// so many launches: each takes a GPU two microseconds, however little it does.
func TestStepsAreFewLaunches(t *testing.T) {
	for _, c := range []struct {
		name, model string
		libraries   bool
		want        int
	}{
		{"example", example, false, 26},
		{"example by libraries", example, true, 28},
		{"lenet", " lenet\noptimizer: adam\n", false, 28},
		{"lenet by libraries", " lenet\noptimizer: adam\n", true, 28},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, total := launches(t, "model:"+c.model, c.libraries), 0
			for _, times := range got {
				total += times
			}
			if total != c.want {
				t.Errorf("%d launches a step, want %d: %v", total, c.want, got)
			}
		})
	}
}

// launches returns how often a step launches each entry, or calls a library.
func launches(t *testing.T, model string, libraries bool) map[string]int {
	t.Helper()
	const batch, side, steps = 2, 12, 4 // one to have the memory, and one for each slot's recording
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	if libraries {
		cudatest.UseLibraries(t, gpu)
	}
	c, err := train.ParseConfig([]byte("data: {file: none, x: images, y: labels, resident: yes}\nepochs: 1\nbatch: 2\n" + model))
	if err != nil {
		t.Fatal(err)
	}
	c.Graph = "yes"
	images, labels := make([]uint8, batch*steps*side*side), make([]uint8, batch*steps)
	for i := range images {
		images[i] = uint8(i * 7)
	}
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	data, err := train.NewData(c, train.Arrays{X: storage.From(images, batch*steps, side, side), Y: storage.From(labels, batch*steps)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, gpu)
	if err != nil {
		t.Fatal(err)
	}
	var profile *cuda.Profile
	err = run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		if profile == nil { // what the first step allocates, it also fills
			profile = gpu.Profile()
		}
		return nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	profile.Stop()
	found := map[string]int{}
	for _, r := range profile.Rows() {
		if r.Activity == "launch" {
			found[r.Name] = r.Count / (steps - 1)
		}
	}
	return found
}
