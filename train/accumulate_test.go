package train_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// unevenBatches is samples in whose batches classes, weights and missing values are shared unevenly.
func unevenBatches(weights bool) []dataset.NamedArray {
	const n = 50
	var x, w, values []float32
	var labels []int64
	for i := range n {
		x = append(x, float32(i%5)-2, float32(i%3), float32(i*i%11)/5)
		labels = append(labels, int64(min(2, i*i%7*i/90)))
		w = append(w, float32(i/8%3)/2+float32(i%2))
		v := float32(i%7) / 3
		if i%10 < i/8 {
			v = float32(math.NaN())
		}
		values = append(values, v)
	}
	all := []dataset.NamedArray{
		{Name: "x", Array: storage.From(x, n, 3)}, {Name: "y", Array: storage.From(labels, n), Role: dataset.Target},
		{Name: "a", Array: storage.From(values, n), Role: dataset.Target}, {Name: "b", Array: storage.From(x, n, 3), Role: dataset.Target},
	}
	if weights {
		all = append(all, dataset.NamedArray{Name: "w", Array: storage.From(w, n), Role: dataset.Weight})
	}
	return all
}

// accumulateCases have the fields that a run takes, and its configuration.
var accumulateCases = map[string]struct {
	fields  []string
	weights bool
	text    string
}{
	"class weights":       {[]string{"x", "y"}, false, "loss: {cross_entropy: {class_weights: [1, 3, 0.2]}}"},
	"ignored label":       {[]string{"x", "y"}, false, "loss: {cross_entropy: {ignore_index: 1}}"},
	"sample weights":      {[]string{"x", "y"}, true, "loss: cross_entropy"},
	"all of them":         {[]string{"x", "y"}, true, "loss: {nll: {ignore_index: 1, class_weights: [1, 3, 0.2]}}"},
	"sum":                 {[]string{"x", "b"}, true, "loss: {mse: {reduction: sum}}"},
	"missing values":      {[]string{"x", "a"}, false, "loss: mse"},
	"two denominators":    {[]string{"x", "a", "b"}, false, "loss: huber"},
	"two, and weights":    {[]string{"x", "a", "b"}, true, "loss: mse"},
	"two, clipped":        {[]string{"x", "a", "b"}, false, "loss: mse\nclip_norm: 0.1"},
	"two, in fp16":        {[]string{"x", "a", "b"}, true, "loss: mse\nprecision: fp16"},
	"elements with means": {[]string{"x", "b"}, false, "loss: mae"},
}

// newUneven returns a run of an accumulateCase and its data.
func newUneven(t *testing.T, name, batches string, d storage.Device, w mode) (*train.Run, *train.Data) {
	t.Helper()
	c := accumulateCases[name]
	var fields []dataset.NamedArray
	for _, f := range unevenBatches(c.weights) {
		if f.Name == "w" || f.Name == c.fields[0] || f.Name == c.fields[1] || f.Name == c.fields[len(c.fields)-1] {
			if f.Role == dataset.Target && len(c.fields) == 2 {
				f.Name = "y"
			}
			fields = append(fields, f)
		}
	}
	y, model := "y: y", "[{dense: 4}, tanh, {dense: 3}]"
	switch {
	case len(c.fields) == 3:
		y = "y: {a: a, b: b}, missing: {a: ignore}"
		model = "{graph: {nodes: [{name: h, layer: {dense: 4}, from: x}, {name: a, layer: {dense: 1}, from: h}, {name: b, layer: {dense: 3}, from: h}], outputs: [a, b]}}"
	case c.fields[1] == "a":
		y, model = "y: y, missing: {y: ignore}", "[{dense: 4}, tanh, {dense: 1}]"
	}
	text := fmt.Sprintf("data: {file: none, x: x, %s, normalize: none}\nmodel: %s\noptimizer: {sgd: {lr: 5e-2, momentum: 0.9}}\nschedule: constant\nepochs: 2\n%s\n%s\n", y, model, c.text, batches)
	config, err := train.ParseConfig([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	config.Graph, config.Data.Resident = w.graph, w.resident
	data, err := dataconfig.New(config.Data, config.Seed, fields, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	run, err := train.New(context.Background(), config, data, d)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return run, data
}

// TestAccumulationIsALargerBatchByDenominators: weights of samples and classes, ignored labels and missing values
// count in the batches of an update as in a large batch, on both devices, and after interruptions.
func TestAccumulationIsALargerBatchByDenominators(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	fit := func(run *train.Run, data *train.Data) *train.Run {
		t.Helper()
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		return run
	}
	fit(newUneven(t, "two, in fp16", "batch: 8\naccumulate: 4", storage.CPU, mode{})) // whose first batches overflow
	for name := range accumulateCases {
		if name == "two, in fp16" {
			continue
		}
		large := fit(newUneven(t, name, "batch: 32", storage.CPU, mode{}))
		if small := fit(newUneven(t, name, "batch: 8", storage.CPU, mode{})); nearWeights(t, small, large) {
			t.Errorf("%s: batches of 8 and of 32 give the same", name)
		}
		parts := fit(newUneven(t, name, "batch: 8\naccumulate: 4", storage.CPU, mode{}))
		if !nearWeights(t, parts, large) {
			t.Errorf("%s: 4 batches of 8 differ from one of 32", name)
		}
		if a, b := parts.History["loss"][0], large.History["loss"][0]; name != "sum" && math.Abs(a-b) > 1e-5*math.Abs(b) {
			t.Errorf("%s: loss %v of batches of 8, %v of 32", name, a, b)
		}
		for stop := range 6 {
			run, data := newUneven(t, name, "batch: 8\naccumulate: 4", storage.CPU, mode{})
			sameState(t, fmt.Sprintf("%s, stopped after step %d", name, stop+1), state(t, fit(interrupted(t, run, data, stop+1), data)), state(t, parts))
		}
		if name != "all of them" && name != "two, and weights" {
			continue
		}
		for _, w := range modes {
			if run := fit(newUneven(t, name, "batch: 8\naccumulate: 4", gpu, w)); !nearWeights(t, run, large) {
				t.Errorf("%s, %v: 4 batches of 8 differ from one of 32", name, w)
			}
		}
	}
}
