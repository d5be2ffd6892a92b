package keras

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
)

// The recurrent layers: kernel (in, gates·units) and recurrent_kernel (units, gates·units)
// are transposed. PyTorch adds two biases where Keras has one.

// SimpleRNN has no gates.
var _ = registerRule(recurrentRule("SimpleRNN", "nn.RNN", 1, recurrentGates["SimpleRNN"]))

// LSTM: both order the gates input, forget, cell, output.
var _ = registerRule(recurrentRule("LSTM", "nn.LSTM", 4, recurrentGates["LSTM"]))

// GRU: Keras orders the gates update, reset, candidate; PyTorch reset, update, candidate.
// Its bias has a row for the input and one for the state. With reset_after=False, Keras
// multiplies the state by the reset gate before the product, and PyTorch cannot.
var _ = registerRule(recurrentRule("GRU", "nn.GRU", 3, recurrentGates["GRU"]))

func recurrentRule(class, counterpart string, gates int, order []int) Rule {
	const in, units = 3, 2
	arrays := []Weight{w("kernel", in, gates*units), w("recurrent_kernel", units, gates*units), w("bias", gates*units)}
	if class == "GRU" {
		arrays[2] = w("bias", 2, gates*units)
	}
	return Rule{
		Class: class, Counterpart: counterpart,
		Links:  func(l *Layer) ([]weights.Link, error) { return recurrentLinks(l, order) },
		Module: func(l *Layer) (string, error) { return recurrentCall(l, counterpart, gates, false) },
		Samples: []Layer{
			sample(class, map[string]any{"units": units, "use_bias": true}, arrays...),
			sample(class, map[string]any{"units": units, "use_bias": false}, arrays[:2]...),
		},
	}
}

// recurrentLinks returns the links of a recurrent layer whose gates PyTorch has in order.
func recurrentLinks(l *Layer, order []int) ([]weights.Link, error) {
	if err := checkRecurrent(l); err != nil {
		return nil, err
	}
	bias, err := l.Bool("use_bias", hasWeight(l, "bias"))
	if err != nil {
		return nil, err
	}
	product := weights.TransposeOp(1, 0)
	if order != nil {
		product = weights.Chain(product, weights.GatesOp(0, order...))
	}
	links := []weights.Link{
		linked("kernel", "weight_ih_l0", product),
		linked("recurrent_kernel", "weight_hh_l0", product),
	}
	var both weights.Op = weights.SumOp{}
	if l.Class == "GRU" {
		both = weights.Chain(weights.InverseOp(weights.ConcatOp(0, 2)), weights.ReshapeOp([]int{1, -1}, []int{-1}), weights.GatesOp(0, order...))
	}
	if bias {
		links = append(links, weights.Link{From: []string{"bias"}, To: []string{"bias_ih_l0", "bias_hh_l0"}, Op: both})
	}
	return links, nil
}

// checkRecurrent fails if PyTorch's module cannot compute what l does, in one direction or the other.
func checkRecurrent(l *Layer) error {
	activation, err1 := activationOf(l, "activation", "tanh")
	recurrent, err2 := activationOf(l, "recurrent_activation", "sigmoid")
	resets, err3 := l.Bool("reset_after", true)
	if err := first(err1, err2, err3); err != nil {
		return err
	}
	if bias, ok := l.Weight("bias"); ok && l.Class == "GRU" && bias.Array.Rank() == 1 {
		resets = false
	}
	switch {
	case l.Class == "GRU" && !resets:
		return notInPyTorch("reset_after=False, which multiplies the state by the reset gate before the product")
	case l.Class == "SimpleRNN" && activation == "relu":
	case activation != "tanh":
		return notInPyTorch("activation %s; PyTorch has tanh", activation)
	case l.Class != "SimpleRNN" && recurrent != "sigmoid":
		return notInPyTorch("recurrent_activation %s; PyTorch has sigmoid", recurrent)
	}
	return nil
}

// activationOf returns the name of a setting that is an activation.
func activationOf(l *Layer, setting, otherwise string) (string, error) {
	if described, ok := l.Config[setting].(map[string]any); ok {
		config, _ := described["config"].(map[string]any)
		for _, name := range []any{described["config"], config["activation"], config["name"], described["class_name"]} {
			if text, ok := name.(string); ok {
				return text, nil
			}
		}
	}
	return l.Text(setting, otherwise)
}

// recurrentCall returns the call that constructs PyTorch's module.
func recurrentCall(l *Layer, name string, gates int, both bool) (string, error) {
	hidden := "?"
	if n, err := l.Int("units", 0); err != nil {
		return "", err
	} else if n > 0 {
		hidden = fmt.Sprint(n)
	} else if k, ok := l.Weight("recurrent_kernel"); ok {
		hidden = fmt.Sprint(k.Array.Shape[0])
	}
	kernel := "kernel"
	if both {
		kernel = "forward/kernel"
	}
	c := newCall(name, size(l, kernel, 0), hidden).set("batch_first", true)
	if both {
		c.set("bidirectional", true)
	}
	if activation, _ := activationOf(l, "activation", "tanh"); l.Class == "SimpleRNN" && activation == "relu" {
		c.set("nonlinearity", "relu")
	}
	if bias, _ := l.Bool("use_bias", true); !bias {
		c.set("bias", false)
	}
	backwards, err := l.Bool("go_backwards", false)
	if err == nil && backwards {
		err = notInPyTorch("go_backwards; reverse the sequences instead")
	}
	return c.String(), err
}
