package nn

import "github.com/h5dnn/h5dnn/tensor"

// GRUOptions are the settings of a GRU.
type GRUOptions struct {
	RecurrentOptions
	ResetBefore         Negated   `json:"reset_after"`                   // multiply the product of the state by the reset gate, as PyTorch, instead of the state
	Activation          Submodule `json:"activation,omitzero"`           // of the candidate; tanh if nil
	RecurrentActivation Submodule `json:"recurrent_activation,omitzero"` // of the gates; sigmoid if nil
}

// GRU is the gated recurrent unit of Cho et al. (arXiv:1406.1078). For x (N, steps, input_size), the gates r and z and the candidate n,
// which are rows of W_ih·x + b_ih and W_hh·h + b_hh in this order:
//
//	n′ = tanh(W_in·x + b_in + σ(r)·(W_hn·h + b_hn))
//	h′ = (1 − σ(z))·n′ + σ(z)·h
//
// Without reset_after the candidate is tanh(W_in·x + b_in + W_hn·(σ(r)·h) + b_hn), as in the paper. Its output is h′ of the
// last step (N, hidden_size), or of each step with return_sequences.
type GRU struct {
	GRUOptions
	Recurrent
}

// NewGRU returns a GRU, built if InputSize is given. HiddenSize is required.
func NewGRU(o GRUOptions) *GRU {
	o.RecurrentOptions = withDefaults(o.RecurrentOptions, recurrentDefaults)
	return newGRU(o)
}

func newGRU(o GRUOptions) *GRU {
	g := &GRU{GRUOptions: o}
	cell := tensor.GRUCell
	if g.ResetBefore {
		cell = tensor.GRUBeforeCell
	}
	g.prepare(recurrence{RecurrentOptions: &g.RecurrentOptions, layer: "gru", cell: cell, gate: g.RecurrentActivation, activation: g.Activation})
	return g
}

var _ = RegisterLayer("gru", newGRU, GRUOptions{RecurrentOptions: recurrentDefaults})
