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
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// places is n images of two channels, a class for each pixel, the largest of three scores, probabilities of the classes
// of a pixel, and a number for each image.
func places(n int) (x, classes, soft, size dataset.NamedArray) {
	const area = 15
	var images, probabilities, sizes []float32
	var labels []int32
	for i := range n {
		sum := float32(0)
		for c := range 2 {
			for p := range area {
				v := float32((i*7+p*5+c*(p+i))%11)/5 - 1
				images, sum = append(images, v), sum+v
			}
		}
		for p := range area {
			a, b := images[i*2*area+p], images[i*2*area+area+p]
			label := int32(0)
			if a > 0.3 {
				label = 1
			} else if b > 0 {
				label = 2
			}
			labels = append(labels, label)
		}
		for class := range int32(3) {
			for p := range area {
				v := float32(0.1)
				if labels[i*area+p] == class {
					v = 0.8
				}
				probabilities = append(probabilities, v)
			}
		}
		sizes = append(sizes, sum/4)
	}
	return dataset.NamedArray{Name: "x", Array: storage.From(images, n, 2, 3, 5)},
		dataset.NamedArray{Name: "y", Array: storage.From(labels, n, 3, 5), Role: dataset.Target},
		dataset.NamedArray{Name: "y", Array: storage.From(probabilities, n, 3, 3, 5), Role: dataset.Target},
		dataset.NamedArray{Name: "size", Array: storage.From(sizes, n), Role: dataset.Target}
}

// fitFields trains a run on fields, and returns it with its metrics of them.
func fitFields(t *testing.T, d storage.Device, text string, fields ...dataset.NamedArray) (*train.Run, train.Metrics) {
	t.Helper()
	c, err := train.ParseConfig([]byte("schedule: constant\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataconfig.New(c.Data, c.Seed, fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.New(context.Background(), c, data, d)
	if err == nil {
		err = run.Fit(context.Background(), data, train.Options{})
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m, err := run.Evaluate(context.Background(), data.Train)
	if err != nil {
		t.Fatal(err)
	}
	return run, m
}

// metric returns a value of m.
func metric(m train.Metrics, name string) float64 {
	a, ok := m.Values[name]
	if !ok {
		return math.NaN()
	}
	return storage.Elements[float64](a)[0]
}

const segmentation = `
data: {file: none, x: x, y: y, normalize: none}
model: [{conv2d: {out_channels: 8, kernel_size: 1}}, relu, {conv2d: {out_channels: 3, kernel_size: 1}}]
optimizer: {adam: {lr: 2e-2}}
batch: 8
`

// TestLabelsOfEachPlaceTrain: classes on axis 1, with labels for each pixel, as integers, with missing ones, and as
// probabilities, on both devices.
func TestLabelsOfEachPlaceTrain(t *testing.T) {
	x, y, soft, _ := places(40)
	missing := y
	values := storage.Elements[float32](tensor.FromArray(y.Array).Cast(dtype.Float32).Array())
	for i := range values {
		if i%7 == 3 {
			values[i] = float32(math.NaN())
		}
	}
	missing.Array = storage.From(values, y.Array.Shape...)
	for name, c := range map[string]struct {
		y    dataset.NamedArray
		text string
	}{
		"labels":        {y, "loss: cross_entropy\nmetrics: [confusion_matrix]"},
		"probabilities": {soft, "loss: {cross_entropy: {label_smoothing: 0.01}}\nmetrics: [accuracy]"},
		"missing":       {missing, "loss: cross_entropy"},
	} {
		text := strings.Replace(segmentation, "normalize: none", "normalize: none, missing: {y: "+map[bool]string{true: "ignore", false: "error"}[name == "missing"]+"}", 1) + c.text
		run, m := fitFields(t, storage.CPU, strings.Replace(text, "kernel_size: 1}}]", "kernel_size: 1}}, {permute: [2, 3, 1]}, {permute: [3, 1, 2]}]", 1)+"\nepochs: 25", x, c.y)
		if p, err := run.Predictor(); err != nil {
			t.Fatal(err)
		} else if err := p.Classes(); err != nil || len(p.OutputShape) != 2 {
			t.Errorf("%s: classes of shape %v, %v", name, p.OutputShape, err)
		}
		if a := metric(m, "accuracy"); !(a > 0.9) {
			t.Errorf("%s: accuracy %v after training, loss %v", name, a, run.History["loss"])
		}
		if run.HasAccuracy() || run.Config.Classes != 3 {
			t.Errorf("%s: accuracy of samples %v, %d classes", name, run.HasAccuracy(), run.Config.Classes)
		}
		_, want := fitFields(t, storage.CPU, text+"\nepochs: 1", x, c.y)
		_, got := fitFields(t, cudatest.Devices(t, cudatest.Deferred)[0], text+"\nepochs: 1", x, c.y)
		if math.Abs(got.MeanLoss()-want.MeanLoss()) > 1e-4 || math.Abs(metric(got, "accuracy")-metric(want, "accuracy")) > 1e-2 {
			t.Errorf("%s: loss %v, accuracy %v on a GPU; %v, %v on the CPU", name, got.MeanLoss(), metric(got, "accuracy"), want.MeanLoss(), metric(want, "accuracy"))
		}
	}
}

const placesAndSize = `
data: {file: none, x: x, y: {y: y, size: size}, normalize: none}
model: {graph: {nodes: [
  {name: h, layer: {conv2d: {out_channels: 6, kernel_size: 1}}, from: x},
  {name: r, layer: relu, from: h},
  {name: y, layer: {conv2d: {out_channels: 3, kernel_size: 1}}, from: r},
  {name: f, layer: flatten, from: r}, {name: size, layer: {dense: 1}, from: f}], outputs: [y, size]}}
optimizer: {adam: {lr: 1e-2}}
batch: 8
loss: mse
`

// TestEachTargetHasItsLoss, weight and metrics: in YAML, where they may be saved and resumed, and in Go.
func TestEachTargetHasItsLoss(t *testing.T) {
	x, y, _, size := places(40)
	text := placesAndSize + "targets: {y: {loss: {cross_entropy: {class_weights: [1, 2, 1]}}, metrics: [accuracy]}, size: {weight: 0.25, metrics: [mae]}}\nepochs: "
	run, m := fitFields(t, storage.CPU, text+"20", x, y, size)
	if a, e := metric(m, "y_accuracy"), metric(m, "size_mean_absolute_error"); !(a > 0.85) || !(e < 0.3) {
		t.Errorf("accuracy %v, mean absolute error %v", a, e)
	}
	if run.HasAccuracy() || len(m.Values) != 2 {
		t.Errorf("metrics %v", m.Values)
	}
	_, free := fitFields(t, storage.CPU, strings.Replace(text, "weight: 0.25", "weight: 0", 1)+"20", x, y, size)
	if e := metric(free, "size_mean_absolute_error"); !(e > 2*metric(m, "size_mean_absolute_error")) {
		t.Errorf("mean absolute error %v of a target of weight 0, %v with weight", e, metric(m, "size_mean_absolute_error"))
	}
	c, err := train.ParseConfig([]byte("schedule: constant\n" + text + "2"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataconfig.New(c.Data, c.Seed, []dataset.NamedArray{x, y, size}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err = train.New(context.Background(), c, data, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	again := interrupted(t, run, data, 3)
	whole, want := fitFields(t, storage.CPU, text+"2", x, y, size)
	if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"loss", "y_accuracy", "size_mean_absolute_error"} {
		if got := fmt.Sprint(again.History[name]); len(whole.History[name]) != 2 || got != fmt.Sprint(whole.History[name]) {
			t.Errorf("%s %s after an interruption, want %v", name, got, whole.History[name])
		}
	}
	ce, mse := nn.NewCrossEntropyLoss(nn.CrossEntropyLossOptions{ClassWeights: []float64{1, 2, 1}}), nn.MSELoss{}
	var losses [2]float64
	for i, weight := range []float64{0.25, 1} {
		d, err := dataset.FromArrays(x, y, size)
		if err != nil {
			t.Fatal(err)
		}
		model := whole.Model
		loader, err := dataset.NewLoader(d, dataset.Options{BatchSize: 40})
		if err != nil {
			t.Fatal(err)
		}
		h, err := train.Fit(context.Background(), model, mse, nn.NewSGD(nn.SGDOptions{LearningRate: 1e-12}), loader, train.FitOptions{
			Targets: map[string]train.TargetLoss{"y": {Loss: ce, Metrics: []any{"accuracy"}}, "size": {Weight: weight, Metrics: []any{}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if losses[i] = h["loss"][0]; len(h["y_accuracy"]) != 1 {
			t.Errorf("history %v", h)
		}
	}
	if math.Abs(losses[0]-want.MeanLoss()) > 1e-5 || !(losses[1] > losses[0]) {
		t.Errorf("losses %v in Go by weight of a target; want %v first", losses, want.MeanLoss())
	}
	for text, want := range map[string]string{
		"targets: {z: mse}":                  `targets: z: no such target; known are [size y]`,
		"targets: {y: {weight: -1}}":         "targets: y: weight: cannot be -1",
		"targets: {y: {los: mse}}":           "loss",
		"targets: {y: {metrics: [nothing]}}": "targets: y: metrics",
		"targets: {y: {loss: nothing}}":      "targets: y: loss",
	} {
		if _, err := train.ParseConfig([]byte(placesAndSize + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestEveryLossTrains runs each registered loss on targets of its form: the loss falls, and the model predicts.
func TestEveryLossTrains(t *testing.T) {
	const n, dense, conv = 32, "[{dense: %d}]", "[{conv2d: {out_channels: %d, kernel_size: 1}}]"
	x, labels, _, _ := places(n)
	flat := x
	flat.Array = tensor.FromArray(x.Array).Reshape(n, 30).Array()
	target := func(f func(i int) float32, shape ...int) dataset.NamedArray {
		y := tensor.Zeros(dtype.Float32, append([]int{n}, shape...)...).Array()
		for i, e := 0, storage.Elements[float32](y); i < len(e); i++ {
			e[i] = f(i)
		}
		return dataset.NamedArray{Name: "y", Array: y, Role: dataset.Target}
	}
	numbers := target(func(i int) float32 { return float32(i%7) / 2 }, 2)
	bits := target(func(i int) float32 { return float32(i * i % 3 % 2) }, 2)
	signs := target(func(i int) float32 { return float32(i%2*2 - 1) })
	shares := target(func(i int) float32 { return 0.25 + float32(i/2%2*(i%2*2-1))/8 + 0.25 }, 2)
	classes := dataset.NamedArray{Name: "y", Array: tensor.FromArray(labels.Array).Slice(1, 0, 1, 1).Slice(2, 0, 1, 1).Contiguous().Reshape(n).Array(), Role: dataset.Target}
	sequences := classes
	sequences.Array = tensor.FromArray(labels.Array).Slice(1, 0, 1, 1).Contiguous().Reshape(n, 5).Slice(1, 0, 2, 1).Contiguous().AddScalar(1).Array()
	signal := flat
	signal.Array = tensor.FromArray(x.Array).Reshape(n, 2, 15).Array()
	for name, c := range map[string]struct {
		model string
		x, y  dataset.NamedArray
	}{
		"mean_squared_error": {fmt.Sprintf(dense, 2), flat, numbers}, "mean_absolute_error": {fmt.Sprintf(dense, 2), flat, numbers}, "huber": {fmt.Sprintf(dense, 2), flat, numbers},
		"smooth_l1": {fmt.Sprintf(dense, 2), flat, numbers}, "sum_of_squared_errors": {fmt.Sprintf(dense, 2), flat, numbers}, "quantile": {fmt.Sprintf(dense, 2), flat, numbers},
		"poisson_nll": {fmt.Sprintf(dense, 2), flat, numbers}, "gaussian_nll": {fmt.Sprintf(dense, 4), flat, numbers}, "cosine": {fmt.Sprintf(dense, 2), flat, numbers},
		"bce_with_logits": {fmt.Sprintf(dense, 2), flat, bits}, "binary_focal": {fmt.Sprintf(dense, 2), flat, bits}, "hinge": {fmt.Sprintf(dense, 2), flat, bits},
		"hinge_embedding": {"[{dense: 1}, softplus]", flat, signs}, "cosine_embedding": {"[{dense: 6}, {reshape: [2, 3]}]", flat, signs}, "triplet": {"[{dense: 9}, {reshape: [3, 3]}]", flat, signs},
		"kl_div": {"[{dense: 2}]", flat, shares}, "multi_margin": {fmt.Sprintf(dense, 3), flat, classes}, "ctc": {"[{conv1d: {out_channels: 5, kernel_size: 1}}]", signal, sequences},
		"cross_entropy": {fmt.Sprintf(conv, 3), x, labels}, "focal": {fmt.Sprintf(conv, 3), x, labels}, "dice": {fmt.Sprintf(conv, 3), x, labels}, "iou": {fmt.Sprintf(conv, 3), x, labels},
		"tversky": {fmt.Sprintf(conv, 3), x, labels}, "nll": {"[{dense: 3}, softmax]", flat, classes},
	} {
		loss := name
		switch name {
		case "kl_div":
			loss = "{kl_div: {logits: true}}"
		case "nll":
			loss = "{nll: {probabilities: true}}"
		}
		run, m := fitFields(t, storage.CPU, "data: {file: none, x: x, y: y, normalize: none}\nbatch: 8\naccumulate: 2\nepochs: 6\noptimizer: {adam: {lr: 0.02}}\nmodel: "+c.model+"\nloss: "+loss, c.x, c.y)
		if h := run.History["loss"]; !(h[len(h)-1] < h[0]) || !(m.MeanLoss() < 1e3) {
			t.Errorf("%s: loss %v, then %v", name, h, m.MeanLoss())
		}
		p, err := run.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := p.Predict(c.x.Array); err != nil || out.Shape[0] != n {
			t.Errorf("%s: prediction %v", name, err)
		}
	}
}
