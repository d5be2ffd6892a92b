package keras

import (
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Bidirectional: the parameters of the layer that goes backwards end in _reverse.
var _ = register(class{
	shapes: bidirectionalShapes, module: bidirectionalModule, outputs: bidirectionalOutputs, several: true,
	variables: func(l *settings) []Variable {
		backward := "layer"
		if l.Config["backward_layer"] != nil {
			backward = "backward_layer"
		}
		return append(within("forward/", "forward_layer", variablesOf(l.wrapped("layer"))), within("backward/", "backward_layer", variablesOf(l.wrapped(backward)))...)
	},
	arrays: func(l *settings, _ int) map[string][]int {
		both, inner := map[string][]int{}, l.wrapped("layer")
		inner.InputShapes = l.InputShapes
		for name, shape := range weightShapes(inner) {
			both["forward/"+name], both["backward/"+name] = shape, shape
		}
		return both
	},
	links: bidirectionalLinks,
	own: func(l *settings) []weights.Link {
		forward, backward := directionsOf(l)
		if l.failed() != nil {
			return nil
		}
		return append(linksOfDirection(l, forward, "forward/", "", ownRecurrentLinks), linksOfDirection(l, backward, "backward/", "_reverse", ownRecurrentLinks)...)
	},
	samples: []Layer{
		sample(map[string]any{"merge_mode": "concat", "layer": map[string]any{"class_name": "LSTM", "config": map[string]any{"units": 2.0}}},
			w("forward/kernel", 3, 8), w("forward/recurrent_kernel", 2, 8), w("forward/bias", 8),
			w("backward/kernel", 3, 8), w("backward/recurrent_kernel", 2, 8), w("backward/bias", 8)),
		sample(map[string]any{"layer": map[string]any{"class_name": "GRU", "config": map[string]any{"units": 2.0, "reset_after": true}}},
			w("forward/kernel", 3, 6), w("forward/recurrent_kernel", 2, 6), w("forward/bias", 2, 6),
			w("backward/kernel", 3, 6), w("backward/recurrent_kernel", 2, 6), w("backward/bias", 2, 6)),
		sample(map[string]any{"layer": map[string]any{"class_name": "LSTM", "config": map[string]any{"units": 2.0, "use_bias": false}}},
			w("forward/kernel", 3, 8), w("forward/recurrent_kernel", 2, 8), w("backward/kernel", 3, 8), w("backward/recurrent_kernel", 2, 8)),
	},
}, "Bidirectional")

func bidirectionalLinks(l *settings) []weights.Link {
	if mode := mergeMode(l); mode != "concat" {
		l.fail(notInPyTorch("merge_mode %v; PyTorch concatenates the two directions", mode))
	}
	forward, backward := directionsOf(l)
	if forward.Config["go_backwards"] == true {
		l.fail(notInPyTorch("go_backwards of the layer within, which swaps the directions"))
	}
	if l.failed() != nil {
		return nil
	}
	return append(linksOfDirection(l, forward, "forward/", "", recurrentLinks), linksOfDirection(l, backward, "backward/", "_reverse", recurrentLinks)...)
}

// mergeMode returns the name of how both directions are merged: concat, sum, mul, ave, or none.
func mergeMode(l *settings) string {
	if mode, ok := l.Config["merge_mode"]; ok && mode == nil {
		return "none"
	}
	return l.Text("merge_mode", "concat")
}

// directionsOf returns both layers, which are of one kind.
func directionsOf(l *settings) (forward, backward *settings) {
	forward = recurrentWithin(l, "layer")
	backward = recurrentWithin(l, "layer")
	if l.Config["backward_layer"] != nil {
		backward = recurrentWithin(l, "backward_layer")
		if backward.Class != forward.Class || backward.Config["units"] != forward.Config["units"] {
			l.fail(notInPyTorch("layers of two kinds: %s and %s", forward.Class, backward.Class))
		}
	}
	return forward, backward
}

// linksOfDirection returns the links of one of both layers, whose weights in l begin with a prefix, and whose
// parameters end in a suffix, by a rule of one layer.
func linksOfDirection(l, inner *settings, prefix, suffix string, rule func(*settings) []weights.Link) []weights.Link {
	inner.Config = maps.Clone(inner.Config)
	delete(inner.Config, "go_backwards")
	inner.Weights = weightsBelow(l, prefix)
	links := rule(inner)
	for i, link := range links {
		links[i].From, links[i].To = affixed(prefix, link.From, ""), affixed("", link.To, suffix)
	}
	return links
}

// recurrentWithin returns the recurrent layer that a setting describes: an LSTM for an RNN around an LSTMCell.
func recurrentWithin(l *settings, setting string) *settings {
	inner := l.wrapped(setting)
	if inner.Class == "RNN" {
		layers, _ := layersOf(inner)
		if len(layers) > 1 {
			l.fail(notInPyTorch("several cells, one on another"))
		}
		inner = layers[0]
	}
	if l.failed() == nil && stackKey(inner.Layer) == "" {
		l.fail(notInPyTorch("layer of class %s", inner.Class))
	}
	return inner
}

// affixed returns names between a prefix and a suffix.
func affixed(prefix string, names []string, suffix string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = prefix + name + suffix
	}
	return list
}

func bidirectionalShapes(l *settings, in [][]int) [][]int {
	inner := recurrentWithin(l, "layer")
	if l.failed() != nil {
		return nil
	}
	shapes := recurrentShapes(inner, in)
	output, states := shapes[0], shapes[1:]
	outputs := [][]int{output}
	switch mergeMode(l) {
	case "concat":
		output[len(output)-1] *= 2
	case "none":
		outputs = append(outputs, output)
	}
	return slices.Concat(outputs, states, states)
}

func bidirectionalModule(l *settings, in [][]int) *module {
	inner := recurrentWithin(l, "layer")
	if l.failed() != nil {
		return &module{}
	}
	inner.Weights = weightsBelow(l, "forward/")
	m := recurrentModule(inner, in)
	m.settings["bidirectional"] = true
	if mode := mergeMode(l); mode != "concat" {
		m.settings["merge_mode"] = mode
	}
	return m
}

// bidirectionalOutputs adds a recurrent layer of two directions.
func bidirectionalOutputs(b *builder, l *settings, in []value) []value {
	forward, backward := directionsOf(l)
	if l.failed() != nil {
		return nil
	}
	for _, f := range recurrentActivations {
		if a, b := activationOf(forward, f.setting, f.otherwise), activationOf(backward, f.setting, f.otherwise); a != b {
			l.refuse("%s of one direction %s, of the other %s", f.setting, a, b)
		}
	}
	m := bidirectionalModule(l, shapesOfValues(in))
	forward.Weights = weightsBelow(l, "forward/")
	b.setRecurrence(forward, m)
	return b.recur(l, forward, m, in, 2)
}
