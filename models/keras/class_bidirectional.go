package keras

import (
	"maps"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Bidirectional: the parameters of the layer that goes backwards end in _reverse.
var _ = register(class{
	shapes: bidirectionalShapes, module: bidirectionalModule, axes: asInKeras,
	variables: func(l *settings) []Variable {
		list := variablesOf(l.wrapped("layer"))
		return append(within("forward/", "forward_layer", list), within("backward/", "backward_layer", list)...)
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
	if mode, ok := l.Config["merge_mode"]; ok && mode != "concat" {
		l.fail(notInPyTorch("merge_mode %v; PyTorch concatenates the two directions", mode))
	}
	forward := recurrentWithin(l, "layer")
	if forward.Config["go_backwards"] == true {
		l.fail(notInPyTorch("go_backwards of the layer within, which swaps the directions"))
	}
	backward := recurrentWithin(l, "layer")
	if l.Config["backward_layer"] != nil {
		backward = recurrentWithin(l, "backward_layer")
		if backward.Class != forward.Class || backward.Config["units"] != forward.Config["units"] {
			l.fail(notInPyTorch("layers of two kinds: %s and %s", forward.Class, backward.Class))
		}
	}
	if l.failed() != nil {
		return nil
	}
	return append(linksOfDirection(l, forward, "forward/", ""), linksOfDirection(l, backward, "backward/", "_reverse")...)
}

// linksOfDirection returns the links of one of both layers, whose weights in l begin with a prefix, and whose
// parameters end in a suffix.
func linksOfDirection(l, inner *settings, prefix, suffix string) []weights.Link {
	inner.Config = maps.Clone(inner.Config)
	delete(inner.Config, "go_backwards")
	inner.Weights = weightsBelow(l, prefix)
	links := recurrentLinks(inner)
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
	inner := l.wrapped("layer")
	if inner.Class != "LSTM" && inner.Class != "GRU" && inner.Class != "SimpleRNN" {
		l.refuse("around a %s", inner.Class)
	}
	shapes := recurrentShapes(inner, in)
	if l.Text("merge_mode", "concat") == "concat" {
		shapes[0][len(shapes[0])-1] *= 2
	}
	return shapes
}

func bidirectionalModule(l *settings, in [][]int) *module {
	inner := recurrentWithin(l, "layer")
	if l.failed() != nil {
		return &module{}
	}
	inner.Weights = weightsBelow(l, "forward/")
	m := recurrentModule(inner, in)
	m.settings["bidirectional"] = true
	if mode := l.Text("merge_mode", ""); mode != "concat" {
		m.notRun = unsupported("merge_mode %q", mode)
	}
	return m
}
