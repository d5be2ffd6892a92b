package nn

import "github.com/h5dnn/h5dnn/tensor"

// RNNOptions are the settings of an RNN.
type RNNOptions struct {
	RecurrentOptions
	Nonlinearity Submodule `json:"nonlinearity,omitzero"` // activation of the state; tanh if nil
}

// RNN is a recurrent layer without gates: h′ = tanh(W_ih·x + b_ih + W_hh·h + b_hh), for x (N, steps, input_size). Its output is h′ of
// the last step (N, hidden_size), or of each step with return_sequences.
type RNN struct {
	RNNOptions
	Recurrent
}

// NewRNN returns an RNN, built if InputSize is given. HiddenSize is required.
func NewRNN(o RNNOptions) *RNN {
	o.RecurrentOptions = withDefaults(o.RecurrentOptions, recurrentDefaults)
	return newRNN(o)
}

func newRNN(o RNNOptions) *RNN {
	r := &RNN{RNNOptions: o}
	r.prepare(recurrence{RecurrentOptions: &r.RecurrentOptions, layer: "rnn", cell: tensor.RNNCell, activation: r.Nonlinearity})
	return r
}

var _ = RegisterLayer("rnn", newRNN, RNNOptions{RecurrentOptions: recurrentDefaults})
