package keras

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// The recurrent layers: kernel (in, gates·units) and recurrent_kernel (units, gates·units)
// are transposed. PyTorch adds two biases where Keras has one.
var (
	// SimpleRNN has no gates.
	_ = register(recurrentClass("nn.RNN", 1, 1), "SimpleRNN")
	// LSTM: both order the gates input, forget, cell, output.
	_ = register(recurrentClass("nn.LSTM", 4, 1), "LSTM")
	// GRU: Keras orders the gates update, reset, candidate; PyTorch reset, update, candidate.
	// Its bias has a row for the input and one for the state. With reset_after=False, Keras
	// multiplies the state by the reset gate before the product, and PyTorch cannot.
	_ = register(recurrentClass("nn.GRU", 3, 2), "GRU")
	_ = register(class{variables: recurrent, shapes: convRecurrentShapes, spatial: true}, "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
)

// recurrentClass returns the class of layers with a number of gates and of biases.
func recurrentClass(module string, gates, biases int) class {
	const in, units = 3, 2
	bias := w("bias", biases, gates*units)
	if biases == 1 {
		bias = w("bias", gates*units)
	}
	arrays := []Weight{w("kernel", in, gates*units), w("recurrent_kernel", units, gates*units), bias}
	return class{
		variables: recurrent, settings: biased, shapes: recurrentShapes, nodes: recurrentNodes,
		arrays:  shaped(map[string]string{"kernel": fmt.Sprintf("features %d*units", gates), "recurrent_kernel": fmt.Sprintf("units %d*units", gates)}),
		pytorch: module, links: recurrentLinks,
		call: func(l *Layer) (string, error) { return recurrentCall(l, false) },
		samples: []Layer{
			sample(map[string]any{"units": units, "use_bias": true}, arrays...),
			sample(map[string]any{"units": units, "use_bias": false}, arrays[:2]...),
		},
	}
}

// recurrentLinks returns the links of a recurrent layer.
func recurrentLinks(l *Layer) ([]weights.Link, error) {
	if err := checkRecurrent(l); err != nil {
		return nil, err
	}
	bias, err := l.Bool("use_bias", hasWeight(l, "bias"))
	if err != nil {
		return nil, err
	}
	product := weights.TransposeOp(1, 0)
	var both weights.Op = weights.SumOp{}
	if l.Class == "GRU" {
		gates := weights.GatesOp(0, 1, 0, 2)
		product = weights.Chain(product, gates)
		both = weights.Chain(weights.InverseOp(weights.ConcatOp(0, 2)), weights.ReshapeOp([]int{1, -1}, []int{-1}), gates)
	}
	links := []weights.Link{
		linked("kernel", "weight_ih_l0", product),
		linked("recurrent_kernel", "weight_hh_l0", product),
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
func recurrentCall(l *Layer, both bool) (string, error) {
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
	c := newCall(classes[l.Class].pytorch, size(l, kernel, 0), hidden).set("batch_first", true)
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

func recurrentShapes(l *Layer, in [][]int) ([][]int, error) {
	units, err1 := l.Int("units", 0)
	sequences, err2 := l.Bool("return_sequences", false)
	if err := first(err1, err2); err != nil {
		return nil, err
	}
	if len(in[0]) != 2 {
		return nil, fmt.Errorf("input of shape %v; want steps and features: %w", in[0], ErrConfig)
	}
	if sequences {
		return [][]int{{in[0][0], units}}, nil
	}
	return [][]int{{units}}, nil
}

// convRecurrentShapes returns the shape of a convolution over each step.
func convRecurrentShapes(l *Layer, in [][]int) ([][]int, error) {
	if len(in[0]) < 2 {
		return nil, fmt.Errorf("input of shape %v; want steps of images: %w", in[0], ErrConfig)
	}
	shapes, err1 := convShapes(l, [][]int{in[0][1:]})
	sequences, err2 := l.Bool("return_sequences", false)
	if err := first(err1, err2); err != nil || !sequences {
		return shapes, err
	}
	return [][]int{append([]int{in[0][0]}, shapes[0]...)}, nil
}

func recurrentNodes(b *builder, u use, in []value) (value, error) {
	layer, err := recurrentLayer(u.Layer, in)
	if err != nil {
		return value{}, err
	}
	v, err := b.last(in[0])
	v.node = b.add(u, "", layer, v.node)
	return v, err
}

// recurrentLayer returns the layer of package nn, with PyTorch's names of settings.
func recurrentLayer(l *Layer, in []value) (map[string]any, error) {
	if len(in) > 1 {
		return nil, unsupported("an initial state")
	}
	for _, setting := range []string{"return_state", "stateful", "time_major"} {
		if on, err := l.Bool(setting, false); err != nil || on {
			return nil, first(err, unsupported("%s", setting))
		}
	}
	activation, err1 := activationName(l.Config["activation"])
	if l.Config["activation"] == nil {
		activation = "tanh"
	}
	gates, err2 := activationName(l.Config["recurrent_activation"])
	after, err3 := l.Bool("reset_after", true)
	units, err4 := l.Int("units", 0)
	bias, err5 := l.Bool("use_bias", true)
	backwards, err6 := l.Bool("go_backwards", false)
	sequences, err7 := l.Bool("return_sequences", false)
	switch err := first(err1, err2, err3, err4, err5, err6, err7); {
	case err != nil:
		return nil, err
	case l.Class == "SimpleRNN" && activation == "relu":
	case activation != "tanh":
		return nil, unsupported("activation %s", activation)
	case l.Class != "SimpleRNN" && gates != "sigmoid" && l.Config["recurrent_activation"] != nil:
		return nil, unsupported("recurrent_activation %s", gates)
	case l.Class == "GRU" && !after:
		return nil, unsupported("reset_after=False")
	}
	settings := map[string]any{"hidden_size": units, "input_size": in[0].shape[len(in[0].shape)-1], "bias": bias, "return_sequences": sequences}
	if backwards {
		settings["go_backwards"] = true
	}
	name := strings.ToLower(l.Class)
	if l.Class == "SimpleRNN" {
		name, settings["nonlinearity"] = "rnn", activation
	}
	return map[string]any{name: settings}, nil
}

// recurrent returns the variables of the cell of an LSTM, GRU or SimpleRNN.
func recurrent(l *Layer) ([]Variable, error) {
	list, err := weighted("kernel", "recurrent_kernel")(l)
	return within("", "cell", list), err
}
