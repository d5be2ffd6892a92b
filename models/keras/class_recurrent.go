package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// The recurrent layers: kernel (in, gates·units) and recurrent_kernel (units, gates·units)
// are transposed. PyTorch adds two biases where Keras has one.
var (
	// SimpleRNN has no gates.
	_ = register(recurrentClass("rnn", 1, 1), "SimpleRNN")
	// LSTM: both order the gates input, forget, cell, output.
	_ = register(recurrentClass("lstm", 4, 1), "LSTM")
	// GRU: Keras orders the gates update, reset, candidate; PyTorch reset, update, candidate.
	// Its bias has a row for the input and one for the state. With reset_after=False, Keras
	// multiplies the state by the reset gate before the product, and PyTorch cannot.
	_ = register(recurrentClass("gru", 3, 2), "GRU")
)

// recurrentClass returns the class of layers, by their name in package nn, with a number of gates and of biases.
func recurrentClass(layer string, gates, biases int) class {
	const in, units = 3, 2
	bias := w("bias", biases, gates*units)
	if biases == 1 {
		bias = w("bias", gates*units)
	}
	arrays := []Weight{w("kernel", in, gates*units), w("recurrent_kernel", units, gates*units), bias}
	return class{
		variables: recurrent, shapes: recurrentShapes, module: recurrentModule, outputs: recurrentOutputs, several: true,
		arrays: shaped(map[string]string{"kernel": fmt.Sprintf("features %d*units", gates), "recurrent_kernel": fmt.Sprintf("units %d*units", gates)}),
		links:  recurrentLinks, own: ownRecurrentLinks,
		reverse: map[string]reversal{layer: reverseRecurrent},
		samples: []Layer{
			sample(map[string]any{"units": units, "use_bias": true}, arrays...),
			sample(map[string]any{"units": units, "use_bias": false}, arrays[:2]...),
		},
	}
}

// recurrentLinks returns the links of a recurrent layer to the parameters of a module of PyTorch.
func recurrentLinks(l *settings) []weights.Link {
	if reason := cannotRecur(l); reason != "" {
		l.fail(notInPyTorch("%s", reason))
	}
	return ownRecurrentLinks(l)
}

// ownRecurrentLinks returns the links of a recurrent layer to parameters that are named as PyTorch's.
func ownRecurrentLinks(l *settings) []weights.Link {
	product, both := weights.TransposeOp(1, 0), weights.SumOp
	if l.Class == "GRU" {
		gates := weights.GatesOp(0, 1, 0, 2)
		product = weights.Chain(product, gates)
		if resetsAfter(l) {
			both = weights.Chain(weights.InverseOp(weights.ConcatOp(0, 2)), weights.ReshapeOp([]int{1, -1}, []int{-1}))
		}
		both = weights.Chain(both, gates)
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

// resetsAfter reports whether a GRU multiplies the product of the state by the reset gate, and not the state.
func resetsAfter(l *settings) bool {
	bias, ok := l.Weight("bias")
	return l.Bool("reset_after", true) && (!ok || bias.Array.Rank() != 1)
}

// cannotRecur says why the modules of PyTorch cannot compute what l does; "" if they can.
func cannotRecur(l *settings) string {
	activation, recurrent := activationOf(l, "activation", "tanh"), activationOf(l, "recurrent_activation", "sigmoid")
	switch {
	case l.Class == "GRU" && !resetsAfter(l):
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

// recurrentShapes returns the shapes of the output and, with return_state, of the state.
func recurrentShapes(l *settings, in [][]int) [][]int {
	units := l.Int("units", 0)
	if len(in[0]) != 2 {
		l.invalid("input of shape %v; want steps and features", in[0])
		return [][]int{{units}}
	}
	shapes := [][]int{{units}}
	if l.Bool("return_sequences", false) {
		shapes[0] = []int{in[0][0], units}
	}
	if l.Bool("return_state", false) {
		shapes = append(shapes, slices.Repeat([][]int{{units}}, statesOf(l))...)
	}
	return shapes
}

// reverseRecurrent adds a recurrent layer, within a Bidirectional if it has two directions.
func reverseRecurrent(r *reverser, l *settings, in []tensor) tensor {
	class, activation := map[string]string{"rnn": "SimpleRNN", "lstm": "LSTM", "gru": "GRU"}[l.Class], "activation"
	config := map[string]any{"units": l.Int("hidden_size", 0), "use_bias": l.Bool("bias", true), "return_sequences": l.Bool("return_sequences", false)}
	switch l.Class {
	case "rnn":
		activation = "nonlinearity"
	case "gru":
		config["reset_after"] = l.Bool("reset_after", true)
	}
	for setting, name := range map[string]string{activation: "activation", "recurrent_activation": "recurrent_activation"} {
		if l.Config[setting] == nil {
			continue
		}
		layer, _ := described(l.Config[setting])
		if config[name] = namedActivations[layer]; config[name] == nil {
			l.refuse("%s %s", setting, layer)
		}
	}
	for _, setting := range []string{"masked", "return_state", "proj_size"} {
		if given := l.Config[setting]; given != nil && given != false {
			l.refuse("%s %v", setting, given)
		}
	}
	switch layers := l.Int("num_layers", 1); {
	case layers > 1:
		l.refuse("%d layers in one", layers)
	case len(in) > 1:
		l.refuse("states as inputs")
	case l.Text("merge_mode", "") == "none":
		l.refuse("an output of each direction")
	}
	if l.Bool("go_backwards", false) {
		config["go_backwards"] = true
	}
	if l.Bool("bidirectional", false) {
		config["name"] = Snake(class)
		inner := map[string]any{"module": "keras.layers", "class_name": class, "config": config, "registered_name": nil}
		class, config = "Bidirectional", map[string]any{"layer": inner, "merge_mode": l.Text("merge_mode", "concat")}
	}
	out := r.layer(class, l.Name, config, in[0])
	if out.rank = 1; l.Bool("return_sequences", false) {
		out.rank = 2
	}
	return out
}

// statesOf returns the number of tensors of a layer's state.
func statesOf(l *settings) int {
	if l.Class == "LSTM" {
		return 2
	}
	return 1
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
	return m
}

// recurrentOutputs adds a recurrent layer.
func recurrentOutputs(b *builder, l *settings, in []value) []value {
	m := recurrentModule(l, shapesOfValues(in))
	b.setRecurrence(l, m)
	return b.recur(l, l, m, in, 1)
}

// recurrentActivations are settings of recurrent layers.
var recurrentActivations = []struct{ setting, otherwise string }{{"activation", "tanh"}, {"recurrent_activation", "sigmoid"}}

// setRecurrence sets what package nn computes and PyTorch does not.
func (b *builder) setRecurrence(l *settings, m *module) {
	for _, setting := range []string{"stateful", "time_major"} {
		if l.Bool(setting, false) {
			l.refuse("%s", setting)
		}
	}
	delete(m.settings, "nonlinearity")
	for _, f := range recurrentActivations {
		if l.Class == "SimpleRNN" && f.setting == "recurrent_activation" || activationOf(l, f.setting, f.otherwise) == f.otherwise {
			continue
		}
		name := f.setting
		if l.Class == "SimpleRNN" {
			name = "nonlinearity"
		}
		m.settings[name] = b.activationWithin(l, l.Config[f.setting])
	}
	if l.Class == "GRU" && !resetsAfter(l) {
		m.settings["reset_after"] = false
	}
}

// activationWithin describes an activation as a setting of a layer of package nn.
func (b *builder) activationWithin(l *settings, setting any) any {
	within := &builder{version: b.version, modules: map[string]string{}, emitted: map[string]string{}, taken: map[string]bool{"x": true}}
	y := within.activation(l.of(&Layer{Class: l.Class, Name: "f", Config: l.Config}), "y", setting, value{node: "x", shape: []int{-1}})
	switch {
	case len(within.nodes) == 0:
		return []any{}
	case len(within.nodes) == 1:
		return within.nodes[0].(map[string]any)["layer"]
	}
	return map[string]any{"graph": map[string]any{"inputs": []any{"x"}, "nodes": within.nodes, "outputs": []any{y.node}}}
}

// recur adds the node of a recurrent layer l, whose settings on sequences, states and masks are those of inner, in some directions.
func (b *builder) recur(l, inner *settings, m *module, in []value, directions int) []value {
	x, states, outputs := b.last(in[0]), in[1:], 1
	from, masked := []string{x.node}, x.mask != ""
	if masked && len(states) > 0 && !slices.Contains(l.call.Inputs, "mask") {
		if masked = strings.HasPrefix(b.version, "2."); b.version == "" {
			l.refuse("a mask of its inputs beside states, in a model that does not say its version of Keras")
		}
	}
	if masked { // in Keras 3, of layers with states by the argument mask alone
		m.settings["masked"], from = true, append(from, x.mask)
		if inner.Bool("zero_output_for_mask", false) || directions > 1 && inner.Bool("return_sequences", false) {
			m.settings["zero_output_for_mask"] = true
		}
	}
	if len(states) != 0 && len(states) != directions*statesOf(inner) {
		l.refuse("%d inputs; want none but the steps, or %d states", len(in), directions*statesOf(inner))
	}
	for _, s := range states {
		from = append(from, b.last(s).node)
	}
	if m.settings["merge_mode"] == "none" {
		outputs++
	}
	if inner.Bool("return_state", false) {
		m.settings["return_state"] = true
		outputs += directions * statesOf(inner)
	}
	b.flat[l.path] = x.flat
	node := b.add(l, m.part, m.config(), from...)
	if m.part != "" {
		b.modules[l.path+"/"+m.part] = b.emitted[l.path+"/"+m.part]
	}
	if !inner.Bool("return_sequences", false) {
		x.mask = ""
	}
	values := []value{{node: node, mask: x.mask}}
	for i := 0; outputs > 1 && i < outputs; i++ {
		values = append(values[:i], value{node: fmt.Sprintf("%s.%d", node, i)})
		values[0].mask = x.mask
	}
	return values
}

// recurrent returns the variables of the cell of an LSTM, GRU or SimpleRNN.
func recurrent(l *settings) []Variable {
	return within("", "cell", weighted("kernel", "recurrent_kernel")(l))
}
