package train

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Summary is the layers of a model and the memory of its training, in bytes.
type Summary struct {
	*nn.Summary

	Batch       int   // samples in a batch
	Model       int64 // parameters and buffers, and averages of the parameters
	Gradients   int64 // of the parameters
	Optimizer   int64 // state
	Activations int64 // of a batch, which a step keeps for the backward pass
	Training    int64 // the most that a training step holds at once, the model and the state included
	Saved       int64 // the copy of the model and the state in host memory from which a run is saved, beside training
	Prediction  int64 // the most that the prediction of a batch holds at once, the model included
}

// Summarize lists the layers of the model that c trains on data, and the memory of a step. It runs a training step and a prediction on
// [tensor.Meta], which computes nothing. Of the data it reads labels alone, if nothing else says how many classes there are.
// Batches that are read ahead and the workspaces of kernels are not counted.
func Summarize(ctx context.Context, c Config, data *Data) (_ *Summary, err error) {
	defer panics.Recover(&err)
	if err := c.Check(); err != nil {
		return nil, err
	}
	r, _, err := newRun(ctx, c, data, tensor.Meta)
	if err != nil {
		return nil, err
	}
	for i := range r.Inputs {
		if f := &r.Inputs[i]; f.IsAuto() {
			f.Normalize = dataconfig.Identity
		}
	}
	if err := r.CheckTrainable(); err != nil {
		return nil, err
	}
	if err := r.placeInput(); err != nil {
		return nil, err
	}
	s := &Summary{Batch: min(c.BatchSize, data.Train.Len())}
	if s.Summary, err = r.Summary(); err != nil {
		return nil, err
	}
	if err := s.measure(r, data); err != nil {
		return nil, fmt.Errorf("summarize a step: %w", err)
	}
	return s, nil
}

// measure counts the memory of a step of r, which is on Meta.
func (s *Summary) measure(r *Run, data *Data) error {
	bound, err := r.bindEvaluated(data.Train)
	if err != nil {
		return err
	}
	samples, _, err := r.Config.evaluated(data.Train.Fields())
	if err != nil {
		return err
	}
	var fields []storage.Array
	for _, f := range samples {
		fields = append(fields, tensor.NewMeta(f.Type, append([]int{s.Batch}, f.Shape...)...).Array())
	}
	nn.SetTraining(r.Model, true)
	var step, inference int
	if err := tensor.Step(func(t *tensor.Tape) error {
		t.Seed(r.Config.Seed, 0)
		r.autocast(t)
		c := r.compare(exampleOf(t, r.Inputs, bound, fields, storage.Array{}))
		s.Activations = int64(t.PeakMemory())
		grads := tensor.Gradients(c.loss)
		for _, p := range r.params() {
			if g := grads[p.Tensor]; g != nil {
				s.Gradients += int64(g.Array().NBytes())
			}
		}
		err := r.Optimizer.Step(r.params(), grads)
		step = t.PeakMemory()
		return err
	}); err != nil {
		return err
	}
	nn.SetTraining(r.Model, false)
	if err := tensor.Infer(func(t *tensor.Tape) error {
		r.autocast(t)
		nn.Call("", r.Model, exampleOf(t, r.Inputs, bound, fields, storage.Array{}).inputs...)
		inference = t.PeakMemory()
		return nil
	}); err != nil {
		return err
	}
	model := nn.SizeOf(r.Model).Bytes
	s.Model = model
	if r.ema != nil {
		for _, p := range r.params() {
			s.Model += int64(p.Array().NBytes())
		}
	}
	for _, a := range r.Optimizer.State() {
		s.Optimizer += int64(a.NBytes())
	}
	s.Saved = s.Model + s.Optimizer
	s.Training = s.Saved + int64(step)
	s.Prediction = model + int64(inference)
	return nil
}

// String returns the table of layers and the list of memory.
func (s *Summary) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name  string
		bytes int64
	}{
		{"model", s.Model}, {"gradients", s.Gradients}, {"optimizer state", s.Optimizer}, {fmt.Sprintf("activations of a batch of %d", s.Batch), s.Activations},
		{"training step, at its peak", s.Training}, {"copy that is saved, beside it", s.Saved}, {"prediction of a batch, at its peak", s.Prediction},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row.name, arrayfmt.Bytes(int(row.bytes)))
	}
	w.Flush()
	return s.Summary.String() + "\nmemory\n" + b.String()
}
