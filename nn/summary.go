package nn

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Build makes the parameters of layers that take their sizes from their first
// input, by running model on a sample of zeros of the given shape, and returns
// the shape of its output for one sample.
func Build(model Module, sample ...int) ([]int, error) {
	x, err := zeros(model, sample)
	if err != nil {
		return nil, fmt.Errorf("build for samples %v: %w", sample, err)
	}
	var out []int
	err = evaluating(model, func() error {
		return tensor.Infer(func(t *tensor.Tape) error { out = slices.Clone(model.Forward(t.Input(x)).Shape); return nil })
	})
	if err != nil {
		return nil, fmt.Errorf("build for samples %v: %w", sample, err)
	}
	return out[1:], nil
}

// evaluating calls f with model in evaluation mode and restores the modes.
func evaluating(model any, f func() error) error {
	for _, m := range Modules(model) {
		if t, ok := m.(interface {
			ModeSetter
			Training() bool
		}); ok {
			defer t.SetTraining(t.Training())
		}
	}
	SetTraining(model, false)
	return f()
}

// zeros returns a batch of one sample on the device and of the type of model.
func zeros(model any, sample []int) (x storage.Array, err error) {
	d, t := storage.CPU, dtype.Float32
	for _, m := range Modules(model) {
		if l, ok := m.(lazy); ok && l.device() != nil {
			d = l.device()
			break
		}
	}
	for _, p := range Params(model) {
		d, t = p.Data.Device(), p.Type
		break
	}
	err = tensor.Try(func() {
		x = allocator{"build", d, t}.make(append([]int{1}, sample...)...)
		tensor.Of(x).Zero()
	})
	return x, err
}

// A Summary lists the layers of a model.
type Summary struct {
	Rows   []Row
	Params int // elements in all parameters; shared ones count once
}

// A Row is one layer of a Summary.
type Row struct {
	Name   string // as in its parameters' names
	Kind   string // as in configurations
	Output []int  // shape for one sample
	Params int
}

// Summarize builds model for samples of the given shape and lists its layers with
// the shapes of their outputs.
func Summarize(model Module, sample ...int) (*Summary, error) {
	if _, err := Build(model, sample...); err != nil {
		return nil, err
	}
	x, err := zeros(model, sample)
	if err != nil {
		return nil, err
	}
	s := &Summary{Params: countParams(model)}
	err = evaluating(model, func() error {
		return tensor.Infer(func(t *tensor.Tape) error { s.add("", model, t.Input(x)); return nil })
	})
	return s, err
}

// add appends the rows of m and returns its output for x.
func (s *Summary) add(name string, m Module, x *tensor.Tensor) *tensor.Tensor {
	layers, ok := m.(Sequential)
	if !ok {
		y := m.Forward(x)
		s.Rows = append(s.Rows, Row{name, kindOf(m), slices.Clone(y.Shape[1:]), countParams(m)})
		return y
	}
	for i, layer := range layers {
		x = s.add(join(name, fmt.Sprint(i)), layer, x)
	}
	return x
}

// countParams returns the number of elements of the parameters inside model.
func countParams(model any) (n int) {
	for _, p := range Params(model) {
		n += p.Len()
	}
	return n
}

// String returns a table.
func (s *Summary) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tlayer\toutput\tparameters")
	for _, r := range s.Rows {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\n", r.Name, r.Kind, r.Output, r.Params)
	}
	fmt.Fprintf(w, "\t\ttotal\t%d\n", s.Params)
	w.Flush()
	return b.String()
}
