package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// ConvLSTM1D, 2D and 3D: an LSTM whose products are convolutions, with the gates input, forget, cell, output (Shi et al., arXiv:1506.04214, without
// peepholes). The graph has the steps one after another, which share the convolution of the state.
var _ = register(class{
	variables: recurrent, several: true, spatial: true, outputs: convLSTMOutputs,
	shapes: func(l *settings, in [][]int) [][]int {
		shapes := convRecurrentShapes(l, in)
		if l.Bool("return_state", false) && shapes != nil {
			state := convShapes(l, [][]int{in[0][1:]})
			shapes = append(shapes, state[0], state[0])
		}
		return shapes
	},
	own: func(l *settings) []weights.Link {
		rank := axesOf(l.Class)
		return biasedLinks(l, "input.bias", linked("kernel", "input.weight", kernelToFront(rank)), linked("recurrent_kernel", "recurrent.weight", kernelToFront(rank)))
	},
}, "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")

func convLSTMOutputs(b *builder, l *settings, in []value) []value {
	x := b.last(in[0])
	steps, filters, rank := x.shape[0], l.Int("filters", 0), axesOf(l.Class)
	switch {
	case x.mask != "" || len(in) != 1 && len(in) != 3:
		l.refuse("%d inputs, or a mask of its input; want the steps, and two states or none", len(in))
	case l.Bool("stateful", false) || channelsFirst(l):
		l.refuse("stateful, or data_format channels_first")
	case steps < 2 || steps > 256:
		l.refuse("%d steps; want 2 to 256", steps)
	}
	w, s := sliding(l, x.shape[1:], "kernel_size", false)
	if l.failed() != nil {
		return in
	}
	inner := w.convolution(l, s, s.channels, 4*filters, 1, l.Bool("use_bias", l.hasWeight("bias")))
	ones := slices.Repeat([]int{1}, rank)
	product := window{w.kernel, ones, ones, "same"}.convolution(l, spatial{w.sizes(l, s.sizes), filters, false}, filters, 4*filters, 1, false)
	axes := []int{1, len(x.shape)}
	for axis := range rank {
		axes = append(axes, axis+2)
	}
	x.node = b.add(l, "first", map[string]any{"permute": map[string]any{"axes": axes}}, x.node)
	x.node = b.add(l, "input", map[string]any{"time_distributed": map[string]any{"layer": inner.config()}}, x.node)
	b.modules[l.path+"/input"] = x.node + ".layer"
	one := func(part, layer string, in ...string) string { return b.add(l, part, layer, in...) }
	h, c := "", ""
	if len(in) == 3 {
		h, c = b.toFirst(in[1]).node, b.toFirst(in[2]).node
	}
	var all []string
	for i := range steps {
		if l.Bool("go_backwards", false) {
			i = steps - 1 - i
		}
		gates := b.add(l, fmt.Sprintf("step%d", i), map[string]any{"select": map[string]any{"index": i, "axis": 1}}, x.node)
		if h != "" {
			gates = one("gates", "add", gates, b.add(l, "recurrent", product.config(), h))
		}
		gate := func(name string, at int, setting string) string {
			v := value{node: b.add(l, name, map[string]any{"slice": map[string]any{"start": at * filters, "stop": (at + 1) * filters}}, gates), shape: []int{filters}, first: true}
			return b.activation(l, name+"_activation", l.Config[setting], v).node
		}
		next := one("added", "mul", gate("input_gate", 0, "recurrent_activation"), gate("cell", 2, "activation"))
		if c != "" {
			next = one("cell_state", "add", one("kept", "mul", gate("forget_gate", 1, "recurrent_activation"), c), next)
		}
		c = next
		y := b.activation(l, "output_activation", l.Config["activation"], value{node: c, shape: []int{filters}, first: true})
		h = one("output", "mul", gate("output_gate", 3, "recurrent_activation"), y.node)
		all = append(all, h)
	}
	b.modules[l.path+"/recurrent"] = b.emitted[l.path+"/recurrent"]
	state := convShapes(l, [][]int{in[0].shape[1:]})[0]
	last := func(node string) value { return b.last(value{node: node, shape: state, first: true}) }
	outputs := []value{{node: h, first: true}}
	if l.Bool("return_sequences", false) {
		for i := range all {
			all[i] = last(all[i]).node
		}
		outputs[0] = value{node: b.add(l, "stack", map[string]any{"function": map[string]any{"name": "stack", "settings": map[string]any{"dim": 1}}}, all...)}
	}
	if l.Bool("return_state", false) {
		outputs = append(outputs, last(h), last(c))
	}
	return outputs
}
