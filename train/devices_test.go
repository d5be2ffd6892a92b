package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestCPUAndGPUTrainAlike trains a small network with every kind of layer on a
// GPU, whose code an interpreter runs as late as it may, and on the CPU.
func TestCPUAndGPUTrainAlike(t *testing.T) {
	c, err := train.ParseConfig([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	x, y := blobs(150)
	vx, vy := unseen(60)
	var histories []train.History
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		data, err := train.NewData(c, train.Arrays{X: x, Y: y, ValX: vx, ValY: vy})
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
		histories = append(histories, run.History)
	}
	for _, name := range []string{"loss", "accuracy", "val_loss", "val_accuracy"} {
		cpu, gpu := histories[0][name], histories[1][name]
		if len(cpu) != 3 || len(gpu) != 3 {
			t.Fatalf("%s of %d and %d epochs; want 3", name, len(cpu), len(gpu))
		}
		for i := range cpu {
			// 30 steps let differences of the last bit grow to this.
			if !(math.Abs(cpu[i]-gpu[i]) <= 1e-3*(1+cpu[i])) {
				t.Errorf("%s of epoch %d is %v on a GPU, %v on the CPU", name, i+1, gpu[i], cpu[i])
			}
		}
	}
}
