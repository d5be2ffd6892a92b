package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// withMetrics has one metric of a single number and one of many.
const withMetrics = light + "metrics: [accuracy, {top_k: 2}, confusion_matrix]\n"

// TestMetricsHaveState trains with a confusion matrix on the CPU and in every mode on a GPU:
// its diagonal is what the accuracy counts, in training and in validation.
func TestMetricsHaveState(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range append([]mode{{}}, modes...) {
		var d storage.Device = storage.CPU
		if w.graph != "" {
			d = gpu
		}
		epochs := 0
		run := fitted(t, d, w, withMetrics, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error {
			epochs++
			for about, m := range map[string]train.Metrics{"training": e.Train, "validation": *e.Val} {
				matrix, total, correct := storage.Elements[float64](m.Values["confusion_matrix"]), 0.0, 0.0
				for i, n := range matrix {
					total += n
					if i%5 == 0 { // of 4 by 4
						correct += n
					}
				}
				if len(matrix) != 16 || int(total) != m.Samples || int(correct) != m.Correct {
					t.Errorf("%v, %v, %s: confusion matrix %v of %d samples, %d of them correct", d, w, about, matrix, m.Samples, m.Correct)
				}
			}
			return nil
		}}}})
		if epochs != 2 {
			t.Fatalf("%d epochs", epochs)
		}
		for _, name := range []string{"accuracy", "val_accuracy", "top_k", "val_top_k"} {
			if got := run.History[name]; len(got) != 2 || !(got[1] > 0.2 && got[1] <= 1) {
				t.Errorf("%v, %v: %s of the epochs is %v", d, w, name, got)
			}
		}
	}
}

// TestMetricsResume interrupts an epoch; its confusion matrix is of all its samples.
func TestMetricsResume(t *testing.T) {
	run, data := newRun(t, storage.CPU, mode{}, withMetrics)
	again := interrupted(t, run, data, 3)
	first := true
	err := again.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{OnEpochEnd: func(e train.Epoch) error {
		total := 0.0
		for _, n := range storage.Elements[float64](e.Train.Values["confusion_matrix"]) {
			total += n
		}
		if first && total != 150 {
			t.Errorf("the resumed epoch's confusion matrix counts %v samples; want 150", total)
		}
		first = false
		return nil
	}}}})
	if err != nil || first {
		t.Fatal(err)
	}
}

// TestLossesAndSchedulesHaveSettings in configurations.
func TestLossesAndSchedulesHaveSettings(t *testing.T) {
	base := fitted(t, storage.CPU, mode{}, plain+"batch: 32", train.Options{})
	for _, extra := range []string{"loss: {cross_entropy: {label_smoothing: 0.1}}", "loss: cross_entropy\nmetrics: [{top_k: 2}]"} {
		run := fitted(t, storage.CPU, mode{}, plain+"batch: 32\n"+extra, train.Options{})
		if same := fmt.Sprint(weightsOf(t, run)) == fmt.Sprint(weightsOf(t, base)); same != (extra[6] == 'c') || !run.Classifies() {
			t.Errorf("%s: same weights %v, classifies %v", extra, same, run.Classifies())
		}
	}
}

// twoOutputs is a graph of two outputs, which are compared with two targets.
const twoOutputs = `
data: {file: none, x: x, y: {sum: a, product: b}}
model:
  graph:
    nodes:
      - {name: hidden, layer: {dense: 6}}
      - {name: sum, layer: {dense: 1}, from: hidden}
      - {name: product, layer: {dense: 2}, from: hidden}
    outputs: [sum, product]
loss: mse
optimizer: {adam: {lr: 1e-2}}
batch: 16
epochs: 2
seed: 5
metrics: [mean_absolute_error, mean_squared_error]
`

// twoTargets returns n samples of two numbers with their sum, and their product and half
// of it.
func twoTargets(n int) []dataset.NamedArray {
	x, sum, product := make([]float32, 2*n), make([]float32, n), make([]float32, 2*n)
	for i := range n {
		x[2*i], x[2*i+1] = float32(i%7), float32(i%5)
		sum[i] = x[2*i] + x[2*i+1]
		product[2*i], product[2*i+1] = x[2*i]*x[2*i+1], x[2*i]*x[2*i+1]/2
	}
	return []dataset.NamedArray{
		{Name: "x", Array: storage.From(x, n, 2)},
		{Name: "sum", Array: storage.From(sum, n, 1), Role: dataset.Target},
		{Name: "product", Array: storage.From(product, n, 2), Role: dataset.Target},
	}
}

// TestMetricsOfSeveralOutputs are named after the targets, are those of each output, and
// survive an interruption.
func TestMetricsOfSeveralOutputs(t *testing.T) {
	c, err := train.ParseConfig([]byte(twoOutputs))
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataconfig.New(c.Data, c.Seed, twoTargets(50), twoTargets(30))
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	run = interrupted(t, run, data, 2)
	if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	whole, err := train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sum_mean_absolute_error", "product_mean_squared_error", "val_sum_mean_squared_error", "val_product_mean_absolute_error"} {
		got, want := run.History[name], whole.History[name]
		if len(got) != 2 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s of the epochs: resumed %v, whole %v", name, got, want)
		}
	}
	m, err := run.Evaluate(context.Background(), data.Val)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) float64 {
		a, ok := m.Values[name]
		if !ok {
			t.Fatalf("no %s among %v", name, m.Values)
		}
		return storage.Elements[float64](a)[0]
	}
	// The loss is the sum of the two mean squared errors.
	if sum := value("sum_mean_squared_error") + value("product_mean_squared_error"); math.Abs(sum-m.MeanLoss()) > 1e-4*sum {
		t.Errorf("the errors of the two outputs add up to %v, the loss is %v", sum, m.MeanLoss())
	}
	fields := twoTargets(30)
	fields[1], fields[2] = fields[2], fields[1]
	turned, err := dataset.FromArrays(fields...)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := run.Evaluate(context.Background(), turned); err != nil || other.Loss != m.Loss {
		t.Errorf("with the targets in another order: loss %v, error %v; want %v", other.Loss, err, m.Loss)
	}
	only, err := dataset.FromArrays(twoTargets(30)[:2]...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Evaluate(context.Background(), only); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("evaluated on one of two targets: error %v", err)
	}
}

// TestProgressHasMetricsSoFar: after the last step of an epoch the metrics of its progress equal the epoch's.
func TestProgressHasMetricsSoFar(t *testing.T) {
	run, data := setUp(t, settings+"\nmetrics: [f1]\n")
	var last map[string]storage.Array
	err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{train.CallbackFuncs{
		OnProgress: func(p train.Progress) (err error) {
			last, err = p.Values()
			return err
		},
		OnEpochEnd: func(e train.Epoch) error {
			if got, want := last["f1"], e.Train.Values["f1"]; got.Len() != 1 || storage.Elements[float64](got)[got.Offset] != storage.Elements[float64](want)[want.Offset] {
				t.Errorf("epoch %d: f1 %v after its last step, %v at its end", e.Number, got, want)
			}
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
}
