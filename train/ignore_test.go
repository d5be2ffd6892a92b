package train_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestIgnoredLabelsAreLeftOut: classes are counted, and the loss and the accuracy of epochs and evaluations are
// those of the other samples, whichever label is ignored and however the steps run.
func TestIgnoredLabelsAreLeftOut(t *testing.T) {
	const n = 50
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	samples := func(keep func(i int) bool, ignore int) (a train.Arrays) {
		var x []float32
		var y []int16
		for i := range n {
			label := int16(i * 7 % 3)
			if !keep(i) {
				continue
			}
			if i%4 == 1 || i > 40 {
				label = int16(ignore)
			}
			x, y = append(x, float32(i%5)-2, float32(i%3), float32(i*i%11)/5), append(y, label)
		}
		return train.Arrays{X: storage.From(x, len(y), 3), Y: storage.From(y, len(y)), ValX: storage.From(x, len(y), 3), ValY: storage.From(y, len(y))}
	}
	evaluated := func(loss string, a train.Arrays, d storage.Device, w mode) (h train.History, m train.Metrics) {
		c, err := train.ParseConfig([]byte("data: {file: none, x: x, y: y, normalize: none}\nmodel: [{dense: 3}]\noptimizer: {sgd: {lr: 0}}\nbatch: 8\nepochs: 1\nloss: " + loss + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		c.Graph, c.Data.Resident = w.graph, w.resident
		data, err := train.NewData(c, a)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err != nil {
			t.Fatal(err)
		}
		if run.Config.Classes != 3 {
			t.Fatalf("%s: %d classes, want 3", loss, run.Config.Classes)
		}
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		if m, err = run.Evaluate(context.Background(), data.Val); err != nil {
			t.Fatal(err)
		}
		return run.History, m
	}
	counted := func(i int) bool { return i%4 != 1 && i <= 40 }
	_, want := evaluated("cross_entropy", samples(counted, 0), storage.CPU, mode{})
	if want.Accuracy() == 0 || want.Accuracy() == 1 {
		t.Fatalf("accuracy %v proves nothing", want.Accuracy())
	}
	for _, w := range append([]mode{{}}, modes...) {
		var d storage.Device = storage.CPU
		if w.graph != "" {
			d = gpu
		}
		for _, ignore := range []int{-1, -100, 255} {
			loss := fmt.Sprintf("{cross_entropy: {ignore_index: %d}}", ignore)
			h, m := evaluated(loss, samples(func(int) bool { return true }, ignore), d, w)
			if m.Samples != n || m.Samples-m.Ignored != want.Samples || m.Correct != want.Correct {
				t.Errorf("%v, %v, %s: %d correct, %d ignored of %d; want %d correct of %d", d, w, loss, m.Correct, m.Ignored, m.Samples, want.Correct, want.Samples)
			}
			for name, value := range map[string]float64{"loss": want.MeanLoss(), "val_loss": want.MeanLoss(), "accuracy": want.Accuracy(), "val_accuracy": want.Accuracy()} {
				if got := h[name]; len(got) != 1 || !(math.Abs(got[0]-value) < 1e-5) {
					t.Errorf("%v, %v, %s: %s %v, want %v", d, w, loss, name, got, value)
				}
			}
		}
	}
}
