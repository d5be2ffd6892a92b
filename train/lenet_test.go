package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// lenet is LeCun's network (doi:10.1109/5.726791) for images of 8 by 8.
const lenet = `
data: {file: digits.h5, x: train/images, y: train/labels, resident: no}
model:
  - conv2d: {out_channels: 6, kernel_size: 5, padding: 2}
  - tanh
  - avgpool2d: 2
  - conv2d: {out_channels: 16, kernel_size: 3, padding: 1}
  - tanh
  - avgpool2d: 2
  - flatten
  - dense: 120
  - tanh
  - dense: 84
  - tanh
  - dense: 10
optimizer: {adam: {lr: 8e-3}}
schedule: linear
epochs: 1
batch: 16
seed: 3
`

// TestLeNetLearnsDigits trains on a GPU from chunks of a file, and on the CPU.
func TestLeNetLearnsDigits(t *testing.T) {
	file, err := hdf5.Open("../testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	digits := train.Arrays{ // as many as an interpreter computes in a while
		X: first(t, file, "/train/images", 640), Y: first(t, file, "/train/labels", 640),
		ValX: first(t, file, "/test/images", 160), ValY: first(t, file, "/test/labels", 160),
	}
	cpu, cpuProbabilities := learned(t, digits, storage.CPU)
	gpu, gpuProbabilities := learned(t, digits, cudatest.Devices(t, cudatest.Deferred)[0])
	// 40 steps let differences of the last bit grow to this.
	const tolerance = 2e-3
	for _, name := range []string{"loss", "accuracy", "val_loss", "val_accuracy"} {
		for i, want := range cpu[name] {
			if got := gpu[name][i]; !(math.Abs(got-want) <= tolerance*(1+want)) {
				t.Errorf("%s of epoch %d is %v on a GPU, %v on the CPU", name, i+1, got, want)
			}
		}
	}
	if accuracy, _ := gpu.Last("val_accuracy"); accuracy < 0.65 {
		t.Errorf("accuracy %v on digits, want at least 0.65", accuracy)
	}
	for i, want := range cpuProbabilities {
		if got := gpuProbabilities[i]; !(math.Abs(float64(got-want)) <= 10*tolerance) {
			t.Errorf("probability %d is %v on a GPU, %v on the CPU", i, got, want)
		}
	}
}

// first returns the first n rows of a dataset.
func first(t *testing.T, file *hdf5.File, path string, n int) storage.Array {
	t.Helper()
	d, err := file.Dataset(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	v, err := a.Slice(0, 0, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a.With(v)
}

// learned trains lenet on d and returns the history and the probabilities for the
// validation images.
func learned(t *testing.T, digits train.Arrays, d storage.Device) (train.History, []float32) {
	t.Helper()
	c, err := train.ParseConfig([]byte(lenet))
	if err != nil {
		t.Fatal(err)
	}
	data, err := train.NewData(c, digits)
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatalf("%v: %v", d, err)
	}
	p, err := run.Predictor()
	if err == nil {
		err = p.Probabilities()
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := digits.ValX.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	return run.History, tensor.Values[float32](tensor.FromArray(out))
}
