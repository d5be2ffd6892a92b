package nn

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// RecurrentOptions are the settings that RNN, LSTM and GRU have in common.
type RecurrentOptions struct {
	HiddenSize        int                `json:"hidden_size"`                    // numbers of a state; required
	InputSize         int                `json:"input_size,omitempty"`           // features of a step; taken from the first input if 0
	NumLayers         int                `json:"num_layers"`                     // layers, each of which takes the steps of the one before; 1 if 0
	NoBias            Negated            `json:"bias"`                           // add two biases, to the products of input and state
	Dropout           float64            `json:"dropout,omitempty"`              // probability of dropping an element between two layers
	Bidirectional     bool               `json:"bidirectional,omitempty"`        // go through the steps in both directions
	MergeMode         string             `json:"merge_mode,omitempty"`           // concat, sum, mul or ave of both directions, or none for two outputs; concat if empty
	ReturnSequences   bool               `json:"return_sequences,omitempty"`     // return the output of each step, instead of the last one's
	ReturnState       bool               `json:"return_state,omitempty"`         // return the states after the last step as further outputs
	GoBackwards       bool               `json:"go_backwards,omitempty"`         // begin at the last step; outputs are in that order
	Masked            bool               `json:"masked,omitempty"`               // take a second input that says which steps count: lengths (N), or a mask (N, steps) that is not 0 there
	ZeroOutputForMask bool               `json:"zero_output_for_mask,omitempty"` // outputs of steps that do not count are 0, instead of the output before
	Initializer       InitializerSetting `json:"initializer"`                    // the default is uniform over ±1/√hidden_size, also for biases; kaiming if empty
	DType             dtype.Type         `json:"dtype,omitzero"`                 // the first input's if absent
	Device            storage.Device     `json:"-" nn:"-"`                       // the first input's if nil
}

var recurrentDefaults = RecurrentOptions{NumLayers: 1, Initializer: "kaiming"}

// Recurrent holds the parameters of an RNN, LSTM or GRU, by PyTorch's names: weight_ih_l0 of the input of the first layer and weight_hh_l0
// of its state, with a row for each gate and number of a state, bias_ih_l0 and bias_hh_l0; with the ending _reverse for the other direction.
type Recurrent struct {
	Registry
	placement
	recurrence recurrence
}

// A recurrence is the kind of a recurrent layer.
type recurrence struct {
	*RecurrentOptions
	layer    string
	cell     tensor.Cell
	projSize int // of the output of a step; hidden_size if 0
	// activations of the gates, and of the candidate and the cell; sigmoid and tanh if nil
	gate, activation Submodule
}

// cellWeights are the parameters of one layer in one direction.
type cellWeights struct{ ih, hh, hr, biasIH, biasHH *tensor.Tensor }

// IsBuilt reports whether the layer has its parameters.
func (r *Recurrent) IsBuilt() bool { return r.Parameter("weight_ih_l0") != nil }

// prepare makes r a layer of kind c: it checks the settings, and builds the layer if the number of features is known.
func (r *Recurrent) prepare(c recurrence) {
	r.recurrence = c
	switch o := c.RecurrentOptions; {
	case o.HiddenSize < 1 || o.InputSize < 0 || o.NumLayers < 1 || c.projSize < 0 || c.projSize >= o.HiddenSize:
		tensor.Fail(c.layer, views.ErrShape, "hidden_size %d, input_size %d, num_layers %d, proj_size %d; want at least 1, and a proj_size below hidden_size",
			o.HiddenSize, o.InputSize, o.NumLayers, c.projSize)
	case !(o.Dropout >= 0 && o.Dropout < 1):
		tensor.Fail(c.layer, ErrConfig, "dropout %v; want 0 ≤ dropout < 1", o.Dropout)
	case !slices.Contains([]string{"", "concat", "sum", "mul", "ave", "none"}, o.MergeMode):
		tensor.Fail(c.layer, ErrConfig, "merge_mode %q; want concat, sum, mul, ave or none", o.MergeMode)
	case o.MergeMode != "" && !o.Bidirectional:
		tensor.Fail(c.layer, ErrConfig, "merge_mode %q of one direction; set bidirectional", o.MergeMode)
	case o.NumLayers > 1 && (o.GoBackwards || o.MergeMode != "" && o.MergeMode != "concat"):
		tensor.Fail(c.layer, ErrConfig, "go_backwards or merge_mode %q of %d layers; write them one after another", o.MergeMode, o.NumLayers)
	}
	if c.Dropout > 0 && c.NumLayers > 1 {
		r.RegisterModule("dropout", NewDropout(DropoutOptions{P: c.Dropout}))
	}
	if c.InputSize > 0 {
		r.build(c.InputSize, c.Device, c.DType)
	}
	NewAllocator(c.layer, nil, c.DType)
	fillsOf(c.layer, c.Initializer, 1, 1)
}

// output returns the number of features of a step's output in one direction.
func (c recurrence) output() int {
	if c.projSize > 0 {
		return c.projSize
	}
	return c.HiddenSize
}

// directions returns the endings of parameters' names: of each direction.
func (c recurrence) directions() []string {
	if c.Bidirectional {
		return []string{"", "_reverse"}
	}
	return []string{""}
}

func (r *Recurrent) build(inputs int, device storage.Device, t dtype.Type) {
	c := r.recurrence
	alloc := NewAllocator(c.layer, device, t)
	for layer := range c.NumLayers {
		for _, direction := range c.directions() {
			add := func(kind string, shape ...int) {
				name, fanIn := fmt.Sprintf("%s_l%d%s", kind, layer, direction), shape[len(shape)-1]
				if c.Initializer == recurrentDefaults.Initializer {
					fanIn = c.HiddenSize
				}
				fill, bias := fillsOf(c.layer, c.Initializer, fanIn, shape[0])
				if len(shape) == 1 {
					fill = bias
				}
				r.RegisterParameter(name, alloc.param(fill, r.init.key(name), shape...))
			}
			add("weight_ih", c.cell.Gates()*c.HiddenSize, inputs)
			add("weight_hh", c.cell.Gates()*c.HiddenSize, c.output())
			if !c.NoBias {
				add("bias_ih", c.cell.Gates()*c.HiddenSize)
				add("bias_hh", c.cell.Gates()*c.HiddenSize)
			}
			if c.projSize > 0 {
				add("weight_hr", c.projSize, c.HiddenSize)
			}
		}
		if layer == 0 {
			c.InputSize = inputs
		}
		inputs = c.output() * len(c.directions())
	}
	c.Device, c.DType = alloc.Device, alloc.DType
}

// weights returns the parameters of a layer in a direction.
func (r *Recurrent) weights(layer int, direction string) cellWeights {
	get := func(kind string) *tensor.Tensor {
		return r.Parameter(fmt.Sprintf("%s_l%d%s", kind, layer, direction)).tensorOf()
	}
	return cellWeights{get("weight_ih"), get("weight_hh"), get("weight_hr"), get("bias_ih"), get("bias_hh")}
}

// Forward returns the output for x.
func (r *Recurrent) Forward(x *tensor.Tensor) *tensor.Tensor {
	return single(r.recurrence.layer, r.ForwardAll([]*tensor.Tensor{x}))
}

// ForwardAll returns the outputs for the inputs: x, the mask if the layer is Masked, and the states before the first step, or none.
// The states after the last step are further outputs with ReturnState.
func (r *Recurrent) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	c := r.built(inputs)
	if c.Masked && len(inputs) < 2 {
		tensor.Fail(c.layer, views.ErrShape, "no second input; with masked: true it is lengths, or a mask")
	}
	var mask *tensor.Tensor
	x, states := inputs[0], inputs[1:]
	if c.Masked {
		mask, states = states[0], states[1:]
	}
	outputs, states := r.ForwardStates(x, mask, states)
	if c.ReturnState {
		outputs = append(outputs, states...)
	}
	return outputs
}

// built returns the kind of the layer, which is built for inputs.
func (r *Recurrent) built(inputs []*tensor.Tensor) recurrence {
	c := r.recurrence
	checkInputs(c.layer, inputs)
	x := inputs[0]
	if c.RecurrentOptions == nil {
		tensor.Fail("recurrent layer", storage.ErrState, "not built; make it by its constructor")
	}
	if x.Rank() != 3 || x.Shape()[1] < 1 {
		tensor.Fail(c.layer, views.ErrShape, "input %v; want (samples, steps, features)", x.Shape())
	}
	if !r.IsBuilt() {
		device, t := r.forInput(c.layer, x, c.Device, c.DType)
		r.build(x.Shape()[2], device, t)
	}
	checkInput(c.layer, x, r.Parameter("weight_ih_l0").Tensor, 2, c.InputSize)
	return c
}

// ForwardStates returns the outputs for x (N, steps, features), and the states after the last step: for each layer and each of its
// directions h (N, hidden_size), and c of an LSTM. The mask is nil, lengths (N) or (N, steps); states are as those that it returns, or none for zeros.
func (r *Recurrent) ForwardStates(x, mask *tensor.Tensor, states []*tensor.Tensor) (outputs, after []*tensor.Tensor) {
	c := r.built([]*tensor.Tensor{x})
	c.checkStates(x, states)
	counts := countingSteps(c.layer, x, mask)
	steps := x.Transpose(0, 1) // so that the numbers of a step are together
	for layer := range c.NumLayers {
		outputs = nil
		last := layer == c.NumLayers-1
		for _, direction := range c.directions() {
			var state []*tensor.Tensor
			if len(states) > 0 {
				state, states = states[:c.cell.States()], states[c.cell.States():]
			}
			backwards := c.GoBackwards != (direction != "")
			y, state := c.recur(steps, state, counts, r.weights(layer, direction), backwards)
			after = append(after, state...)
			switch {
			case !last || c.ReturnSequences:
			case counts == nil:
				y = state[0]
			case backwards:
				y = y.Select(0, 0)
			default:
				y = y.Select(0, -1)
			}
			outputs = append(outputs, y)
		}
		if !last {
			if steps = outputs[0]; len(outputs) > 1 {
				steps = tensor.Cat(2, outputs...)
			}
			if c.Dropout > 0 {
				steps = r.Module("dropout").Forward(steps)
			}
		}
	}
	if c.ReturnSequences {
		for i, y := range outputs {
			if c.GoBackwards {
				y = y.Flip(0)
			}
			outputs[i] = y.Transpose(0, 1)
		}
	}
	return c.merged(outputs), after
}

// merged returns both directions as one output.
func (c recurrence) merged(outputs []*tensor.Tensor) []*tensor.Tensor {
	if len(outputs) == 1 || c.MergeMode == "none" {
		return outputs
	}
	forward, backward := outputs[0], outputs[1]
	switch c.MergeMode {
	case "sum":
		return []*tensor.Tensor{forward.Add(backward)}
	case "mul":
		return []*tensor.Tensor{forward.Mul(backward)}
	case "ave":
		return []*tensor.Tensor{forward.Add(backward).MulScalar(0.5)}
	}
	return []*tensor.Tensor{tensor.Cat(-1, forward, backward)}
}

// checkStates fails unless there are no states, or all of them.
func (c recurrence) checkStates(x *tensor.Tensor, states []*tensor.Tensor) {
	want := c.NumLayers * len(c.directions()) * c.cell.States()
	if len(states) != 0 && len(states) != want {
		tensor.Fail(c.layer, views.ErrShape, "%d states; want none, or %d", len(states), want)
	}
	for i, s := range states {
		size := c.output()
		if i%c.cell.States() > 0 {
			size = c.HiddenSize
		}
		if !slices.Equal(s.Shape(), []int{x.Shape()[0], size}) {
			tensor.Fail(c.layer, views.ErrShape, "state %d is %v; want (%d, %d)", i, s.Shape(), x.Shape()[0], size)
		}
	}
}

// countingSteps returns for each step a mask (N, 1) of the samples in which it counts; nil if all do. The mask has the numbers of
// steps (N), or numbers (N, steps) that are not 0 where a step counts.
func countingSteps(layer string, x, mask *tensor.Tensor) []*tensor.Tensor {
	if mask == nil {
		return nil
	}
	n, steps := x.Shape()[0], x.Shape()[1]
	switch {
	case slices.Equal(mask.Shape(), []int{n}):
		counts := make([]*tensor.Tensor, steps)
		for i := range counts {
			counts[i] = mask.GtScalar(i).Reshape(n, 1)
		}
		return counts
	case !slices.Equal(mask.Shape(), []int{n, steps}):
		tensor.Fail(layer, views.ErrShape, "a mask of %v for inputs %v; want lengths (%d), or (%d, %d)", mask.Shape(), x.Shape(), n, n, steps)
	case mask.DType() != dtype.Bool:
		mask = mask.NeScalar(0)
	}
	return mask.Reshape(n, steps, 1).Unbind(1)
}

// recur goes through steps (steps, N, features) in one direction. It returns the outputs (steps, N, hidden_size), and the state after
// the last step. A nil state is zeros.
func (c recurrence) recur(steps *tensor.Tensor, state, counts []*tensor.Tensor, w cellWeights, backwards bool) (y *tensor.Tensor, after []*tensor.Tensor) {
	o := tensor.RecurrentOptions{
		Cell: c.cell, Reverse: backwards, ZeroOutput: c.ZeroOutputForMask, Projection: w.hr,
		Gate: function(c.gate), Activation: function(c.activation),
	}
	if counts != nil {
		o.Counts = func(t int) *tensor.Tensor { return counts[t] }
	}
	return tensor.Recurrent(tensor.Linear(steps, w.ih, w.biasIH, tensor.NoActivation), w.hh, w.biasHH, state, o)
}

// function returns the activation of a module, or nil without one.
func function(m Submodule) func(x *tensor.Tensor) *tensor.Tensor {
	if m.Module == nil {
		return nil
	}
	return m.Forward
}
