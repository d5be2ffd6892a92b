package train_test

import (
	"context"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
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

// cifar is a network for small images in colour, with batch normalization.
const cifar = `
  - conv2d: {out_channels: 32, kernel_size: 3, padding: 1, bias: false}
  - batchnorm2d: {num_features: 32}
  - relu
  - conv2d: {out_channels: 32, kernel_size: 3, padding: 1, bias: false}
  - batchnorm2d: {num_features: 32}
  - relu
  - maxpool2d: 2
  - flatten
  - dense: 10
optimizer: adam
`

// mlp has two hidden layers.
const mlp = `
  - flatten
  - dense: 512
  - relu
  - dense: 256
  - relu
  - dense: 10
optimizer: {sgd: {lr: 1e-2}}
`

// TestStepsAreFewLaunches holds captured steps, of samples that stay on the device, to this
// many launches at most, at the sizes of MNIST and CIFAR-10: each takes a GPU two microseconds,
// however little it does.
func TestStepsAreFewLaunches(t *testing.T) {
	mnist, colour := []int{28, 28}, []int{3, 32, 32}
	for _, c := range []struct {
		name, model string
		sample      []int
		batch       int
		libraries   bool
		want        int
	}{
		{"example", example, mnist, 64, false, 30},
		{"example by libraries", example, mnist, 64, true, 28},
		{"example clipped", example + "clip_norm: 1\n", mnist, 64, false, 33}, // whatever the number of parameters
		{"example clipped by value", example + "clip_value: 0.1\n", mnist, 64, false, 31},
		{"cifar clipped", cifar + "clip_norm: 1\n", colour, 128, false, 40},
		{"lenet", " lenet\noptimizer: adam\n", mnist, 64, false, 32},
		{"lenet by libraries", " lenet\noptimizer: adam\n", mnist, 64, true, 29},
		{"mlp", mlp, mnist, 64, false, 18},
		{"mlp by libraries", mlp, mnist, 64, true, 13}, // 15 without the masks of its ReLUs
		{"cifar", cifar, colour, 128, false, 37},
		{"cifar by libraries", cifar, colour, 128, true, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, total := launches(t, "model:"+c.model, c.sample, c.batch, c.libraries), 0
			for _, times := range got {
				total += times
			}
			for entry := range got {
				if entry != "cuDNN" && entry != "cuBLASLt" && !slices.Contains(kernels.TrainingEntries, entry) {
					t.Errorf("%s is not in kernels.TrainingEntries, which are loaded ahead of the first step", entry)
				}
			}
			if total > c.want {
				t.Errorf("%d launches a step, want at most %d: %v", total, c.want, got)
			}
		})
	}
}

// launches returns how often a step launches each entry, or calls a library.
func launches(t *testing.T, model string, sample []int, batch int, libraries bool) map[string]int {
	t.Helper()
	counts, _ := launchesAndGraph(t, model, sample, batch, libraries)
	return counts
}

// launchesAndGraph returns the size and depth of the captured graph too.
func launchesAndGraph(t *testing.T, model string, sample []int, batch int, libraries bool) (counts map[string]int, graph string) {
	t.Helper()
	const steps = 4 // one allocates the memory, three are captured, one for each slot
	cudatest.SkipKernels(t)
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	if libraries {
		cudatest.UseLibraries(t, gpu)
		defer gpu.UseLibraries(false)
	}
	var profile *cuda.Profile
	trainOn(t, gpu, model, sample, batch, steps, func() {
		if profile == nil { // the first step also fills what it allocates
			profile = gpu.Profile()
		}
	})
	profile.Stop()
	counts = map[string]int{}
	for _, r := range profile.Rows() {
		switch r.Activity {
		case "launch":
			counts[r.Name] = r.Count / (steps - 1)
		case "capture":
			graph = r.Name
		}
	}
	return counts, graph
}

// trainOn trains a model by captured steps on samples that stay on the device.
func trainOn(t *testing.T, gpu *cuda.Device, model string, sample []int, batch, steps int, stepEnd func()) {
	t.Helper()
	c, err := train.ParseConfig([]byte("data: {file: none, x: images, y: labels, resident: yes, normalize: {mean: 128, std: 64}}\nepochs: 1\nclasses: 10\n" + model))
	if err != nil {
		t.Fatal(err)
	}
	c.Graph, c.BatchSize = "yes", batch
	shape := append([]int{batch * steps}, sample...)
	images, labels := make([]uint8, views.Of(shape...).Len()), make([]uint8, batch*steps)
	for i := range images {
		images[i] = uint8(i * 7)
	}
	for i := range labels {
		labels[i] = uint8(i % 10)
	}
	data, err := train.NewData(c, train.Arrays{X: storage.From(images, shape...), Y: storage.From(labels, batch*steps)})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, gpu)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
		stepEnd()
		return nil
	}}}}); err != nil {
		t.Fatal(err)
	}
}
