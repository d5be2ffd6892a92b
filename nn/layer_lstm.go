package nn

import "github.com/h5dnn/h5dnn/tensor"

// LSTMOptions are the settings of an LSTM.
type LSTMOptions struct {
	RecurrentOptions
	ProjSize            int       `json:"proj_size,omitempty"`           // numbers of a step's output, by a product with weight_hr; hidden_size if 0
	Activation          Submodule `json:"activation,omitzero"`           // of the candidate and the cell; tanh if nil
	RecurrentActivation Submodule `json:"recurrent_activation,omitzero"` // of the gates; sigmoid if nil
}

// LSTM is the recurrent layer of Hochreiter and Schmidhuber (Neural Computation 9, 1997), with the forget gate of Gers et al. For
// x (N, steps, input_size) and gates i, f, g, o, which are rows of W_ih·x + b_ih + W_hh·h + b_hh in this order:
//
//	c′ = σ(f)·c + σ(i)·tanh(g)
//	h′ = σ(o)·tanh(c′)
//
// Its output is h′ of the last step (N, hidden_size), or of each step with return_sequences. A state is h and c.
type LSTM struct {
	LSTMOptions
	Recurrent
}

// NewLSTM returns an LSTM, built if InputSize is given. HiddenSize is required.
func NewLSTM(o LSTMOptions) *LSTM {
	o.RecurrentOptions = withDefaults(o.RecurrentOptions, recurrentDefaults)
	return newLSTM(o)
}

func newLSTM(o LSTMOptions) *LSTM {
	l := &LSTM{LSTMOptions: o}
	l.prepare(recurrence{RecurrentOptions: &l.RecurrentOptions, layer: "lstm", gates: 4, states: 2, projSize: l.ProjSize, step: l.step})
	return l
}

func (l *LSTM) step(x *tensor.Tensor, state []*tensor.Tensor, w cellWeights) []*tensor.Tensor {
	gates := x.Add(tensor.Linear(state[0], w.hh, w.biasHH, tensor.NoActivation)).Chunk(1, 4)
	sigmoid := func(x *tensor.Tensor) *tensor.Tensor {
		return activated(l.RecurrentActivation, (*tensor.Tensor).Sigmoid, x)
	}
	tanh := func(x *tensor.Tensor) *tensor.Tensor { return activated(l.Activation, (*tensor.Tensor).Tanh, x) }
	c := sigmoid(gates[1]).Mul(state[1]).Add(sigmoid(gates[0]).Mul(tanh(gates[2])))
	h := sigmoid(gates[3]).Mul(tanh(c))
	if w.hr != nil {
		h = tensor.Linear(h, w.hr, nil, tensor.NoActivation)
	}
	return []*tensor.Tensor{h, c}
}

// Config returns the settings of l, input_size among them once l is built.
func (l *LSTM) Config() any { return l.LSTMOptions }

var _ = RegisterLayer("lstm", newLSTM, LSTMOptions{RecurrentOptions: recurrentDefaults})
