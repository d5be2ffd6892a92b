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
	_ = register(recurrentClass(1, 1), "SimpleRNN")
	// LSTM: both order the gates input, forget, cell, output.
	_ = register(recurrentClass(4, 1), "LSTM")
	// GRU: Keras orders the gates update, reset, candidate; PyTorch reset, update, candidate.
	// Its bias has a row for the input and one for the state. With reset_after=False, Keras
	// multiplies the state by the reset gate before the product, and PyTorch cannot.
	_ = register(recurrentClass(3, 2), "GRU")
	_ = register(class{variables: recurrent, shapes: convRecurrentShapes, spatial: true}, "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")
)

// recurrentClass returns the class of layers with a number of gates and of biases.
func recurrentClass(gates, biases int) class {
	const in, units = 3, 2
	bias := w("bias", biases, gates*units)
	if biases == 1 {
		bias = w("bias", gates*units)
	}
	arrays := []Weight{w("kernel", in, gates*units), w("recurrent_kernel", units, gates*units), bias}
	return class{
		variables: recurrent, shapes: recurrentShapes, module: recurrentModule, axes: asInKeras,
		arrays: shaped(map[string]string{"kernel": fmt.Sprintf("features %d*units", gates), "recurrent_kernel": fmt.Sprintf("units %d*units", gates)}),
		links:  recurrentLinks,
		samples: []Layer{
			sample(map[string]any{"units": units, "use_bias": true}, arrays...),
			sample(map[string]any{"units": units, "use_bias": false}, arrays[:2]...),
		},
	}
}

// recurrentLinks returns the links of a recurrent layer.
func recurrentLinks(l *settings) []weights.Link {
	if reason := cannotRecur(l); reason != "" {
		l.fail(notInPyTorch("%s", reason))
	}
	product, both := weights.TransposeOp(1, 0), weights.SumOp
	if l.Class == "GRU" {
		gates := weights.GatesOp(0, 1, 0, 2)
		product = weights.Chain(product, gates)
		both = weights.Chain(weights.InverseOp(weights.ConcatOp(0, 2)), weights.ReshapeOp([]int{1, -1}, []int{-1}), gates)
	}
	links := []weights.Link{
		linked("kernel", "weight_ih_l0", product),
		linked("recurrent_kernel", "weight_hh_l0", product),
	}
	if l.Bool("use_bias", l.hasWeight("bias")) {
		links = append(links, weights.Link{From: []string{"bias"}, To: []string{"bias_ih_l0", "bias_hh_l0"}, Op: both})
	}
	return links
}

// cannotRecur says why the modules of PyTorch and package nn cannot compute what l does, in one direction or
// the other; "" if they can.
func cannotRecur(l *settings) string {
	activation, recurrent := activationOf(l, "activation", "tanh"), activationOf(l, "recurrent_activation", "sigmoid")
	resets := l.Bool("reset_after", true)
	if bias, ok := l.Weight("bias"); ok && l.Class == "GRU" && bias.Array.Rank() == 1 {
		resets = false
	}
	switch {
	case l.Class == "GRU" && !resets:
		return "reset_after=False, which multiplies the state by the reset gate before the product"
	case l.Class == "SimpleRNN" && activation == "relu":
	case activation != "tanh":
		return fmt.Sprintf("activation %s; PyTorch has tanh", activation)
	case l.Class != "SimpleRNN" && recurrent != "sigmoid":
		return fmt.Sprintf("recurrent_activation %s; PyTorch has sigmoid", recurrent)
	}
	return ""
}

// activationOf returns the name of a setting that is an activation.
func activationOf(l *settings, setting, otherwise string) string {
	if described, ok := l.Config[setting].(map[string]any); ok {
		config, _ := described["config"].(map[string]any)
		for _, name := range []any{described["config"], config["activation"], config["name"], described["class_name"]} {
			if text, ok := name.(string); ok {
				return text
			}
		}
	}
	return l.Text(setting, otherwise)
}

func recurrentShapes(l *settings, in [][]int) [][]int {
	units := l.Int("units", 0)
	switch {
	case len(in[0]) != 2:
		l.invalid("input of shape %v; want steps and features", in[0])
	case l.Bool("return_sequences", false):
		return [][]int{{in[0][0], units}}
	}
	return [][]int{{units}}
}

// convRecurrentShapes returns the shape of a convolution over each step.
func convRecurrentShapes(l *settings, in [][]int) [][]int {
	if len(in[0]) < 2 {
		l.invalid("input of shape %v; want steps of images", in[0])
		return nil
	}
	shapes := convShapes(l, [][]int{in[0][1:]})
	if l.Bool("return_sequences", false) {
		shapes[0] = append([]int{in[0][0]}, shapes[0]...)
	}
	return shapes
}

// recurrentModule returns the module of a layer whose settings are PyTorch's but for their names.
func recurrentModule(l *settings, in [][]int) *module {
	class := strings.TrimPrefix(l.Class, "Simple")
	m := constructed(strings.ToLower(class),
		"nn."+class+" input_size hidden_size batch_first= bidirectional=False nonlinearity='tanh' bias=True num_layers=1", map[string]any{
			"bias": l.Bool("use_bias", l.hasWeight("bias")), "return_sequences": l.Bool("return_sequences", false),
		})
	m.size("hidden_size", l.sizeOr(l.Int("units", 0), "recurrent_kernel", 0)).size("input_size", l.sizeOr(featuresOf(in[0]), "kernel", 0))
	m.pytorch["batch_first"] = true
	if activation := activationOf(l, "activation", "tanh"); l.Class == "SimpleRNN" {
		m.settings["nonlinearity"] = activation
	}
	if l.Bool("go_backwards", false) {
		m.settings["go_backwards"] = true
		m.differs = notInPyTorch("go_backwards; reverse the sequences instead")
	}
	if reason := cannotRecur(l); reason != "" {
		m.notRun = unsupported("%s", reason)
	}
	for _, setting := range []string{"return_state", "stateful", "time_major"} {
		if l.Bool(setting, false) {
			m.notRun = unsupported("%s", setting)
		}
	}
	return m
}

// recurrent returns the variables of the cell of an LSTM, GRU or SimpleRNN.
func recurrent(l *settings) []Variable {
	return within("", "cell", weighted("kernel", "recurrent_kernel")(l))
}
