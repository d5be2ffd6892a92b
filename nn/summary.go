package nn

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Build makes the parameters of layers that take their sizes from their first
// input, for samples of the given shapes, one for each input. It runs model on meta
// tensors, which have no elements. Build returns the shapes of the outputs for one
// sample.
func Build(model Module, samples ...[]int) (outputs [][]int, err error) {
	for _, shape := range samples {
		if slices.ContainsFunc(shape, func(n int) bool { return n < 1 }) {
			return nil, errkind.Errorf(views.ErrShape, "build for samples %v: want positive sizes", shape)
		}
	}
	err = trace(model, samples, nil, func(ys []*tensor.Tensor) {
		for _, y := range ys {
			if y.Rank() == 0 {
				tensor.Fail(kindOf(model), views.ErrShape, "the output is a single number; want samples along the first axis")
			}
			outputs = append(outputs, slices.Clone(y.Shape()[1:]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("build for %s: %w", shapes(samples), err)
	}
	return outputs, nil
}

// shapes writes the shapes of one input as samples [1 28 28], and of several with commas.
func shapes(samples [][]int) string {
	list := make([]string, len(samples))
	for i, shape := range samples {
		list[i] = fmt.Sprint(shape)
		if len(shape) == 0 {
			list[i] += " (scalars)"
		}
	}
	if len(list) == 0 {
		return "no input"
	}
	return "samples " + strings.Join(list, ", ")
}

// trace runs model in evaluation mode on a batch of one meta sample. It calls see,
// if it is not nil, for each module and then done with the outputs.
func trace(model Module, samples [][]int, see func(CallInfo) error, done func(outputs []*tensor.Tensor)) error {
	return evaluating(model, func() error {
		return tensor.Infer(func(tape *tensor.Tape) error {
			t := dtype.Float32
			for _, p := range Parameters(model) {
				setDefaultDevice(model, p.Device())
				t = p.DType()
				break
			}
			var names []string
			if named, ok := model.(NamedInputs); ok {
				names = named.InputNames()
			}
			xs := make([]*tensor.Tensor, len(samples))
			for i, sample := range samples {
				name, input := "", t
				if i < len(names) {
					name = names[i]
				}
				if declared := InputOf(model, name).Type; declared != dtype.Invalid {
					input = declared
				}
				xs[i] = tape.Input(Allocator{"build", tensor.Meta, input}.make(append([]int{1}, sample...)...))
			}
			if see != nil {
				defer Observe(tape, see)()
			}
			done(Call("", model, xs...))
			return nil
		})
	})
}

// setDefaultDevice makes lazy layers build their parameters on d, unless they have a
// device.
func setDefaultDevice(model any, d storage.Device) {
	for _, m := range Modules(model) {
		if l, ok := m.(Lazy); ok {
			l.SetDefaultDevice(d)
		}
	}
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

// A Summary lists the layers of a model.
type Summary struct {
	Rows   []LayerSummary
	Params int // elements in all parameters; shared ones count once

	// MultiplyAdds is the number of multiply-adds of the forward pass for one sample; see
	// [tensor.Tape.MultiplyAdds].
	MultiplyAdds int
}

// A LayerSummary is one layer of a Summary.
type LayerSummary struct {
	Name   string // as in its parameters' names
	Kind   string // as in configurations
	Output []int  // shape for one sample; nil if there are several outputs
	Params int

	MultiplyAdds int // of the forward pass for one sample
}

// Summarize builds model for samples of the given shapes, one for each input, and
// lists its layers with the shapes of their outputs, parameters and multiply-adds.
// Modules that call others by Call are listed by these; what they
// compute or hold themselves, as attention does, has a row after those.
func Summarize(model Module, samples ...[]int) (*Summary, error) {
	s := &Summary{}
	var ends []int // of each row, the multiply-adds so far
	listed := map[*Parameter]bool{}
	err := trace(model, samples, func(c CallInfo) error {
		end := c.Inputs[0].Tape().MultiplyAdds()
		row := LayerSummary{Name: c.Name, Kind: kindOf(c.Module), MultiplyAdds: c.MultiplyAdds}
		for i := len(ends) - 1; i >= 0 && ends[i] > end-c.MultiplyAdds; i-- {
			row.MultiplyAdds -= s.Rows[i].MultiplyAdds // of a module within
		}
		for _, p := range Parameters(c.Module) {
			if c.Leaf || !listed[p] {
				row.Params += p.Len()
			}
			listed[p] = true
		}
		s.MultiplyAdds = end
		if !c.Leaf && row.MultiplyAdds == 0 && row.Params == 0 {
			return nil
		}
		if len(c.Outputs) == 1 {
			row.Output = slices.Clone(c.Outputs[0].Shape()[1:])
		}
		s.Rows, ends = append(s.Rows, row), append(ends, end)
		return nil
	}, func([]*tensor.Tensor) {})
	if err != nil {
		return nil, fmt.Errorf("summarize for samples %v: %w", samples, err)
	}
	s.Params = countParams(model)
	return s, nil
}

// A Size is how much memory the state of a model takes.
type Size struct {
	Params  int   // elements in all parameters; shared ones count once
	Buffers int   // elements in all buffers
	Bytes   int64 // of both
}

// SizeOf measures the parameters and buffers of model. A large model built on
// tensor.Meta is measured without its memory: see FromConfigOn.
func SizeOf(model any) (s Size) {
	for _, a := range StateDict(model) {
		s.Bytes += int64(a.NBytes())
		s.Buffers += a.Len()
	}
	s.Params = countParams(model)
	s.Buffers -= s.Params
	return s
}

// countParams returns the number of elements of the parameters inside model.
func countParams(model any) (n int) {
	for _, p := range Parameters(model) {
		n += p.Len()
	}
	return n
}

// String returns a table.
func (s *Summary) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tlayer\toutput\tparameters\tmultiply-adds")
	for _, r := range s.Rows {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\t%d\n", r.Name, r.Kind, r.Output, r.Params, r.MultiplyAdds)
	}
	fmt.Fprintf(w, "\t\ttotal\t%d\t%d\n", s.Params, s.MultiplyAdds)
	w.Flush()
	return b.String()
}
