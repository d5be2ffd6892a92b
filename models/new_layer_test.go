package models_test

import (
	"errors"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestALayerThatIsAddedRuns registers layers that the engine lacks, with the settings and the
// parameters of PyTorch's nn.RNN, and runs models of Keras that need them. Nothing else
// knows of the layers.
func TestALayerThatIsAddedRuns(t *testing.T) {
	for _, c := range []struct {
		file, layer string
		register    func()
	}{
		{"rnn", "rnn", func() { nn.RegisterLayer("rnn", newRNN, rnnOptions{}) }},
	} {
		_, err := kerasRun(t, "testdata/"+c.file+".keras", models.Options{})
		if missing := (*models.MissingLayerError)(nil); !errors.As(err, &missing) || missing.Layer != c.layer {
			t.Fatalf("error %v; want one about the layer %s", err, c.layer)
		}
		c.register()
		plan, err := kerasRun(t, "testdata/"+c.file+".keras", models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		predictsAsKeras(t, c.file+".keras", plan, "testdata/"+c.file+".npz")
	}
}

type rnnOptions struct {
	InputSize       int        `json:"input_size"`
	HiddenSize      int        `json:"hidden_size"`
	Nonlinearity    string     `json:"nonlinearity"`
	NoBias          nn.Negated `json:"bias"`
	ReturnSequences bool       `json:"return_sequences"`
	GoBackwards     bool       `json:"go_backwards"`
	Bidirectional   bool       `json:"bidirectional"`
}

// An rnn is h = f(W·x + b + U·h), step by step.
type rnn struct {
	nn.Registry
	options rnnOptions
}

func newRNN(o rnnOptions) *rnn {
	r, allocator := &rnn{options: o}, nn.NewAllocator("rnn", nil, dtype.Invalid)
	zeros := func(name string, shape ...int) {
		r.RegisterParameter(name, allocator.Param(nn.ConstantFill(0), shape...))
	}
	for _, direction := range r.directions() {
		zeros("weight_ih_l0"+direction, o.HiddenSize, o.InputSize)
		zeros("weight_hh_l0"+direction, o.HiddenSize, o.HiddenSize)
		if !o.NoBias {
			zeros("bias_ih_l0"+direction, o.HiddenSize)
			zeros("bias_hh_l0"+direction, o.HiddenSize)
		}
	}
	return r
}

// directions returns the suffixes of the parameters.
func (r *rnn) directions() []string {
	if r.options.Bidirectional {
		return []string{"", "_reverse"}
	}
	return []string{""}
}

// Config returns the settings.
func (r *rnn) Config() any { return r.options }

// Forward takes x (N, steps, input_size).
func (r *rnn) Forward(x *tensor.Tensor) *tensor.Tensor {
	var results []*tensor.Tensor
	for _, direction := range r.directions() {
		steps := inSteps(x)
		if r.options.GoBackwards != (direction != "") {
			steps = backwards(steps)
		}
		states := r.states(steps, direction)
		if !r.options.ReturnSequences {
			states = states[len(states)-1:]
		} else if direction != "" {
			states = backwards(states)
		}
		results = append(results, tensor.Cat(1, states...))
	}
	y := tensor.Cat(2, results...)
	if !r.options.ReturnSequences {
		y = y.Reshape(y.Shape()[0], y.Shape()[2])
	}
	return y
}

// inSteps returns x at each step.
func inSteps(x *tensor.Tensor) []*tensor.Tensor {
	steps := make([]*tensor.Tensor, x.Shape()[1])
	for i := range steps {
		steps[i] = x.Slice(1, i, i+1, 1).Reshape(x.Shape()[0], x.Shape()[2])
	}
	return steps
}

func backwards(steps []*tensor.Tensor) []*tensor.Tensor {
	var list []*tensor.Tensor
	for i := range steps {
		list = append(list, steps[len(steps)-1-i])
	}
	return list
}

// states returns the state (N, 1, hidden_size) after each step.
func (r *rnn) states(steps []*tensor.Tensor, direction string) []*tensor.Tensor {
	product := func(x *tensor.Tensor, kind string) *tensor.Tensor {
		var bias *tensor.Tensor
		if !r.options.NoBias {
			bias = r.Parameter("bias_" + kind + "_l0" + direction).Tensor
		}
		return tensor.Linear(x, r.Parameter("weight_"+kind+"_l0"+direction).Tensor, bias, tensor.NoActivation)
	}
	n := steps[0].Shape()[0]
	state := tensor.Zeros(steps[0].DType(), n, r.options.HiddenSize)
	var states []*tensor.Tensor
	for _, x := range steps {
		state = product(x, "ih").Add(product(state, "hh"))
		if r.options.Nonlinearity == "relu" {
			state = state.ReLU()
		} else {
			state = state.Tanh()
		}
		states = append(states, state.Reshape(n, 1, r.options.HiddenSize))
	}
	return states
}
