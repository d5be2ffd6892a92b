package train_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// twoInputs is a graph of two branches, which take different fields, uint8 and float32.
const twoInputs = `
data: {file: none, x: {image: images, extra: table}, y: labels, weights: weights, normalize: {image: {mean: 20, std: 25}, extra: auto}}
model:
  graph:
    inputs: [extra, image]
    nodes:
      - {name: flat, layer: flatten, from: image}
      - {name: look, layer: {dense: 8}, from: flat}
      - {name: bent, layer: tanh, from: look}
      - {name: side, layer: {dense: 8}, from: extra}
      - {name: both, layer: add, from: [bent, side]}
      - {name: out, layer: {dense: 4}, from: both}
loss: cross_entropy
optimizer: {adam: {lr: 1e-2}}
classes: 4
batch: 16
epochs: 2
seed: 5
`

// twoFields returns n samples for twoInputs, drawn from seed. Those of weight 0 have wrong
// labels.
func twoFields(seed uint32, n int) []dataset.NamedArray {
	x, y := blobsFrom(seed, n)
	extra, weights := make([]float32, 3*n), make([]float32, n)
	for i := range weights {
		if weights[i] = 1; i%3 == 0 {
			weights[i] = 0
			storage.Elements[int64](y)[i] = 3 - storage.Elements[int64](y)[i]
		}
		for k := range 3 {
			extra[3*i+k] = float32((i*7+k*5)%11) / 11
		}
	}
	return []dataset.NamedArray{
		{Name: "image", Array: x}, {Name: "extra", Array: storage.From(extra, n, 3)},
		{Name: "y", Array: y, Role: dataset.Target}, {Name: "weights", Array: storage.From(weights, n), Role: dataset.Weight},
	}
}

func twoInputRun(t *testing.T, d storage.Device, w mode) (*train.Run, *train.Data) {
	t.Helper()
	c, err := train.ParseConfig([]byte(twoInputs))
	if err != nil {
		t.Fatal(err)
	}
	c.Graph, c.Data.Resident = w.graph, w.resident
	data, err := dataconfig.New(c.Data, c.Seed, twoFields(1, 150), twoFields(2, 60))
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, d)
	if err != nil {
		t.Fatal(err)
	}
	return run, data
}

// TestModelsOfTwoInputs trains, saves, resumes, evaluates and predicts with one, on the CPU
// and in every mode on a GPU.
func TestModelsOfTwoInputs(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	var cpu *train.Run
	for _, w := range append([]mode{{}}, modes...) {
		var d storage.Device = storage.CPU
		if w.graph != "" {
			d = gpu
		}
		whole, data := twoInputRun(t, d, w)
		if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatalf("%v, %v: %v", d, w, err)
		}
		if cpu == nil {
			cpu = whole
		}
		for i, want := range cpu.History["val_loss"] {
			if got := whole.History["val_loss"][i]; !(math.Abs(got-want) <= 1e-3*want) {
				t.Errorf("%v, %v: val_loss of epoch %d is %v, on the CPU %v", d, w, i+1, got, want)
			}
		}
		run, data := twoInputRun(t, d, w)
		again := interrupted(t, run, data, 13)
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, fmt.Sprintf("%v, %v, resumed", d, w), state(t, again), state(t, whole))
		if m, err := again.Evaluate(context.Background(), data.Val); err != nil || math.Abs(m.MeanLoss()-again.History["val_loss"][1]) > 1e-6 {
			t.Errorf("%v, %v: evaluated to %v, %v; want %v", d, w, m.MeanLoss(), err, again.History["val_loss"])
		}
		predictsTwo(t, again, data)
	}
}

// predictsTwo wants predictions from arrays, in the order of the model's inputs, to be those
// from a dataset, in that of its fields.
func predictsTwo(t *testing.T, run *train.Run, data *train.Data) {
	t.Helper()
	p, err := run.Predictor()
	if err != nil {
		t.Fatal(err)
	}
	if in := p.Inputs(); len(in) != 2 || in[0].Name != "extra" || in[1].Name != "image" {
		t.Errorf("inputs %v", in)
	}
	fields := twoFields(2, 60)
	direct, err := p.Predict(fields[1].Array, fields[0].Array)
	if err != nil {
		t.Fatal(err)
	}
	var streamed []float32
	for out, err := range p.Stream(context.Background(), data.Val, dataset.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		streamed = append(streamed, tensor.Values[float32](tensor.FromArray(out))...)
	}
	want := tensor.Values[float32](tensor.FromArray(direct))
	if far := distance(streamed, want); len(streamed) != len(want) || far > 1e-5 {
		t.Errorf("%d numbers streamed, %d predicted, %v apart", len(streamed), len(want), far)
	}
	if _, err := p.Predict(fields[0].Array); err == nil {
		t.Error("predicted from one input")
	}
}

// TestWeightsOfSamples: samples of weight 0, whose labels are wrong, change nothing, and do
// not count in the loss and the accuracy.
func TestWeightsOfSamples(t *testing.T) {
	base, data := twoInputRun(t, storage.CPU, mode{})
	if err := base.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	fields := twoFields(1, 150)
	for i, y := range storage.Elements[int64](fields[2].Array) {
		if i%3 == 0 {
			storage.Elements[int64](fields[2].Array)[i] = 3 - y // right again
		}
	}
	run, _ := twoInputRun(t, storage.CPU, mode{})
	other, err := dataconfig.New(run.Config.Data, run.Config.Seed, fields, twoFields(2, 60))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), other, train.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"loss", "val_loss", "accuracy"} {
		for i, want := range base.History[name] {
			if got := run.History[name][i]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s of epoch %d: %v and %v with other labels of weight 0", name, i+1, got, want)
			}
		}
	}
	if a, b := fmt.Sprint(weightsOf(t, run)), fmt.Sprint(weightsOf(t, base)); a != b {
		t.Error("labels of weight 0 are learned")
	}
	var counted []int
	for i := range 60 {
		if i%3 != 0 {
			counted = append(counted, i)
		}
	}
	only, err := dataset.Subset(data.Val, counted)
	if err != nil {
		t.Fatal(err)
	}
	for _, samples := range []int{7, 60} {
		all, err := train.EvaluateBy(samples, base, data.Val)
		if err != nil {
			t.Fatal(err)
		}
		want, err := train.EvaluateBy(samples, base, only)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(all.MeanLoss()-want.MeanLoss()) > 1e-5 {
			t.Errorf("%d samples at a time: loss %v; %v without those of weight 0", samples, all.MeanLoss(), want.MeanLoss())
		}
	}
}

// TestEpochsWeighTheirLoss: the loss of an epoch in which nothing is learned is the weighted
// mean over its samples, however these fall into batches, as an evaluation finds it.
func TestEpochsWeighTheirLoss(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range append([]mode{{}}, modes...) {
		var d storage.Device = storage.CPU
		if w.graph != "" {
			d = gpu
		}
		_, data := twoInputRun(t, d, w)
		still, err := train.ParseConfig([]byte(strings.Replace(twoInputs, "{lr: 1e-2}", "{lr: 0}", 1)))
		if err != nil {
			t.Fatal(err)
		}
		still.Graph, still.Data.Resident, still.Epochs = w.graph, w.resident, 1
		run, err := train.New(context.Background(), still, data, d)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		m, err := run.Evaluate(context.Background(), data.Train)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := run.History["loss"][0], m.MeanLoss(); math.Abs(got-want) > 1e-5*want {
			t.Errorf("%v, %v: loss of the epoch %v, evaluated %v", d, w, got, want)
		}
	}
}

// TestInputsThatDoNotMatchAreNamed in errors, before anything is trained.
func TestInputsThatDoNotMatchAreNamed(t *testing.T) {
	for from, to := range map[string]string{
		"inputs: [extra, image]": "inputs: [other, image]",
		"x: {image":              "x: {picture",
	} {
		text := strings.ReplaceAll(strings.Replace(twoInputs, from, to, 1), "{image: {mean: 20, std: 25}, extra: auto}", "none")
		text = strings.ReplaceAll(text, "from: extra", "from: "+map[bool]string{true: "other", false: "extra"}[strings.Contains(to, "other")])
		c, err := train.ParseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		fields := twoFields(1, 20)
		if strings.Contains(to, "picture") {
			fields[0].Name = "picture"
		}
		data, err := dataconfig.New(c.Data, c.Seed, fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := train.New(context.Background(), c, data, storage.CPU); err == nil || !strings.Contains(err.Error(), "the model has an input") {
			t.Errorf("%s: error %v", to, err)
		}
	}
}

// A counting model takes lengths by name, beside the rows that they are of.
type counting struct {
	Layer *nn.Linear
	seen  *[]float64
}

func (counting) InputNames() []string { return []string{"rows_lengths", "rows"} }

func (m counting) Forward(x *tensor.Tensor) *tensor.Tensor { return nn.ForwardOne(m, x) }

func (m counting) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	if inputs[0].Device() != tensor.Meta {
		*m.seen = append(*m.seen, tensor.Values[float64](inputs[0])...)
	}
	return []*tensor.Tensor{m.Layer.Forward(inputs[1])}
}

// TestLengthsReachTheModel that names them.
func TestLengthsReachTheModel(t *testing.T) {
	const n = 6
	samples, err := dataset.FromArrays(
		dataset.NamedArray{Name: "rows", Array: storage.From(make([]float32, 4*n), n, 4)},
		dataset.NamedArray{Name: "rows lengths", Array: storage.From([]int64{4, 1, 3, 2, 4, 1}, n), Role: dataset.Length, LengthOf: "rows"},
		dataset.NamedArray{Name: "y", Array: storage.From(make([]float32, n), n, 1), Role: dataset.Target},
	)
	if err != nil {
		t.Fatal(err)
	}
	loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 4, Shuffle: dataset.None})
	if err != nil {
		t.Fatal(err)
	}
	var seen []float64
	model := counting{nn.NewLinear(nn.LinearOptions{InFeatures: 4, OutFeatures: 1}), &seen}
	loss, err := nn.LossFromConfig("mse")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := train.Fit(context.Background(), model, loss, nn.NewSGD(nn.SGDOptions{LearningRate: 0.1}), loader, train.FitOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(seen[max(0, len(seen)-n):]); got != "[4 1 3 2 4 1]" {
		t.Errorf("lengths %s", got)
	}
}
