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
	l.prepare(recurrence{RecurrentOptions: &l.RecurrentOptions, layer: "lstm", cell: tensor.LSTMCell, projSize: l.ProjSize, gate: l.RecurrentActivation, activation: l.Activation})
	return l
}

var _ = RegisterLayer("lstm", newLSTM, LSTMOptions{RecurrentOptions: recurrentDefaults})
