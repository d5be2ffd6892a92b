package train_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// TestSummaryCountsMemory compares the memory of a step that is only counted with the memory that a step on the CPU takes.
func TestSummaryCountsMemory(t *testing.T) {
	const samples, batch = 12, 8
	for _, test := range []struct {
		name, model string
		shape       []int
	}{
		{"mlp", "[flatten, {dense: 64}, relu, {dense: 3}]", []int{1, 16, 16}},
		{"cnn", "[{conv2d: {out_channels: 8, kernel_size: 3, padding: 1}}, {batchnorm2d: {num_features: 8}}, relu, {maxpool2d: 2}, flatten, dropout, {dense: 3}]", []int{1, 16, 16}},
		{"lstm", "[{lstm: {hidden_size: 16, num_layers: 2}}, {dense: 3}]", []int{20, 4}},
		{"transformer", "[{transformer_encoder: {num_layers: 2, d_model: 16, nhead: 4, dim_feedforward: 32}}, {select: 0}, {dense: 3}]", []int{20, 16}},
	} {
		c, err := train.ParseConfig(fmt.Appendf(nil, "data: {file: a.h5, x: x, y: y, normalize: none}\nmodel: %s\nclasses: 3\nbatch: %d\nema: 0.9\n", test.model, batch))
		if err != nil {
			t.Fatal(test.name, err)
		}
		x := tensor.Full(dtype.Float32, 0.5, append([]int{samples}, test.shape...)...)
		labels := tensor.FromSlice(make([]int64, samples), samples)
		data, err := train.NewData(c, train.Arrays{X: x.Array(), Y: labels.Array()})
		if err != nil {
			t.Fatal(test.name, err)
		}
		s, err := train.Summarize(context.Background(), c, data)
		if err != nil {
			t.Fatal(test.name, err)
		}
		r, err := train.New(context.Background(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(test.name, err)
		}
		var activations, peak int64
		nn.SetTraining(r.Model, true)
		if err := tensor.Step(func(tape *tensor.Tape) error {
			tape.Seed(1, 0)
			in := tape.Input(x.Narrow(0, 0, batch).Array())
			out := nn.Call("", r.Model, r.Inputs[0].Apply(in))[0]
			loss := tensor.CrossEntropy(out, tape.Input(labels.Narrow(0, 0, batch).Array()))
			activations = int64(tape.PeakMemory())
			grads := tensor.Gradients(loss)
			err := r.Optimizer.Step(nn.Parameters(r.Model), grads)
			peak = int64(tape.PeakMemory())
			return err
		}); err != nil {
			t.Fatal(test.name, err)
		}
		params, model := 4*int64(s.Params), nn.SizeOf(r.Model).Bytes
		if s.Gradients != params || s.Optimizer != 2*params+8 || s.Model != model+params || s.Saved != s.Model+s.Optimizer || s.Batch != batch {
			t.Errorf("%s: %+v; want %d bytes of gradients, twice as many and a count of steps in the state, and averages beside the model of %d", test.name, *s, params, model)
		}
		for _, pair := range [][2]int64{{s.Activations, activations}, {s.Training - s.Saved, peak}} {
			if ratio := float64(pair[0]) / float64(pair[1]); ratio < 0.8 || ratio > 1.1 { // storage pools round up
				t.Errorf("%s: %d bytes counted, %d taken: a ratio of %.2f", test.name, pair[0], pair[1], ratio)
			}
		}
		if s.Prediction <= model || s.Prediction >= s.Training || s.MultiplyAdds == 0 || len(s.Rows) == 0 {
			t.Errorf("%s: %+v", test.name, *s)
		}
	}
}
