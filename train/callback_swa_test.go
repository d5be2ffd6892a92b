package train_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestSWAIsPyTorchs compares the averages, and the statistics of the batch norm that are renewed at the end, with those of
// torch.optim.swa_utils (testdata/swa.py).
func TestSWAIsPyTorchs(t *testing.T) {
	f, err := serialize.Open("testdata/swa.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := serialize.Collect(f)
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string]storage.Array{}
	ours := strings.NewReplacer("1.weight", "1.gamma", "1.bias", "1.beta")
	for _, e := range entries {
		arrays[ours.Replace(e.Name)] = e.Array
	}
	state := func(prefix string) map[string]storage.Array {
		found := map[string]storage.Array{}
		for name, a := range arrays {
			if name, ok := strings.CutPrefix(name, prefix); ok {
				found[name] = a
			}
		}
		return found
	}
	c, err := train.ParseConfig([]byte(`
data: {file: a, x: x, y: y, normalize: none, shuffle: none}
model: [{dense: 6}, {batchnorm1d: {num_features: 6}}, tanh, {dense: 3}]
optimizer: {sgd: {lr: 0.5, momentum: 0.9}}
schedule: constant
epochs: 6
batch: 16
callbacks: [{swa: {start: 3, lr: 0.1}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	data, err := train.NewData(c, train.Arrays{X: arrays["x"], Y: arrays["y"]})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if err := nn.LoadStateDict(run.Model, maps.All(state("begin/"))); err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state("end/")
	for name, a := range nn.StateDict(run.Model) {
		got, err := storage.Read[float64](a)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := storage.Read[float64](want[name])
		if err != nil || len(wanted) != len(got) {
			t.Fatalf("%s: %d elements, want %d, %v", name, len(got), len(wanted), err)
		}
		for i := range got {
			if math.Abs(got[i]-wanted[i]) > 1e-4*(1+math.Abs(wanted[i])) {
				t.Errorf("%s: %v, want %v", name, got, wanted)
				break
			}
		}
	}
	if rates := fmt.Sprint(run.History["lr"]); rates != "[0.5 0.5 0.5 0.1 0.1 0.1]" {
		t.Errorf("learning rates %v", rates)
	}
}
