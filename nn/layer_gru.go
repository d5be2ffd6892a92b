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
	g.prepare(recurrence{RecurrentOptions: &g.RecurrentOptions, layer: "gru", gates: 3, states: 1, step: g.step})
	return g
}

func (g *GRU) step(x *tensor.Tensor, state []*tensor.Tensor, w cellWeights) []*tensor.Tensor {
	sigmoid := func(x *tensor.Tensor) *tensor.Tensor {
		return activated(g.RecurrentActivation, (*tensor.Tensor).Sigmoid, x)
	}
	h, size := state[0], g.HiddenSize
	parts := x.Split(1, 2*size, size)
	var gates []*tensor.Tensor
	var candidate *tensor.Tensor // what the state adds to it
	if !g.ResetBefore {
		product := tensor.Linear(h, w.hh, w.biasHH, tensor.NoActivation).Split(1, 2*size, size)
		gates = sigmoid(parts[0].Add(product[0])).Chunk(1, 2)
		candidate = gates[0].Mul(product[1])
	} else {
		weight, bias := w.hh.Split(0, 2*size, size), []*tensor.Tensor{nil, nil}
		if w.biasHH != nil {
			bias = w.biasHH.Split(0, 2*size, size)
		}
		gates = sigmoid(parts[0].Add(tensor.Linear(h, weight[0], bias[0], tensor.NoActivation))).Chunk(1, 2)
		candidate = tensor.Linear(gates[0].Mul(h), weight[1], bias[1], tensor.NoActivation)
	}
	n := activated(g.Activation, (*tensor.Tensor).Tanh, parts[1].Add(candidate))
	return []*tensor.Tensor{n.Add(gates[1].Mul(h.Sub(n)))}
}

// Config returns the settings of g, input_size among them once g is built.
func (g *GRU) Config() any { return g.GRUOptions }

var _ = RegisterLayer("gru", newGRU, GRUOptions{RecurrentOptions: recurrentDefaults})
