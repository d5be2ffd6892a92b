package keras

import (
	"maps"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Bidirectional: the parameters of the layer that goes backwards end in _reverse.
var _ = register(class{
	variables: bidirectional, settings: wrapping("LSTM"), shapes: bidirectionalShapes, nodes: bidirectionalNodes,
	arrays: func(l *Layer, _ int) map[string][]int {
		both := map[string][]int{}
		if inner, err := wrapped(l, "layer"); err == nil {
			inner.InputShapes = l.InputShapes
			for name, shape := range WeightShapes(inner) {
				both["forward/"+name], both["backward/"+name] = shape, shape
			}
		}
		return both
	},
	pytorch: "nn.RNN, nn.LSTM, nn.GRU with bidirectional",
	links:   bidirectionalLinks,
	call: func(l *Layer) (string, error) {
		inner, err := recurrentWithin(l, "layer")
		if err != nil {
			return "", err
		}
		inner.Weights = l.Weights
		return recurrentCall(inner, true)
	},
	samples: []Layer{
		sample(map[string]any{"merge_mode": "concat", "layer": map[string]any{"class_name": "LSTM", "config": map[string]any{"units": 2.0}}},
			w("forward/kernel", 3, 8), w("forward/recurrent_kernel", 2, 8), w("forward/bias", 8),
			w("backward/kernel", 3, 8), w("backward/recurrent_kernel", 2, 8), w("backward/bias", 8)),
		sample(map[string]any{"layer": map[string]any{"class_name": "GRU", "config": map[string]any{"units": 2.0, "reset_after": true}}},
			w("forward/kernel", 3, 6), w("forward/recurrent_kernel", 2, 6), w("forward/bias", 2, 6),
			w("backward/kernel", 3, 6), w("backward/recurrent_kernel", 2, 6), w("backward/bias", 2, 6)),
	},
}, "Bidirectional")

func bidirectionalLinks(l *Layer) ([]weights.Link, error) {
	if mode, ok := l.Config["merge_mode"]; ok && mode != "concat" {
		return nil, notInPyTorch("merge_mode %v; PyTorch concatenates the two directions", mode)
	}
	forward, err := recurrentWithin(l, "layer")
	if err != nil {
		return nil, err
	}
	if forward.Config["go_backwards"] == true {
		return nil, notInPyTorch("go_backwards of the layer within, which swaps the directions")
	}
	backward := forward
	if l.Config["backward_layer"] != nil {
		if backward, err = recurrentWithin(l, "backward_layer"); err != nil {
			return nil, err
		}
		if backward.Class != forward.Class || backward.Config["units"] != forward.Config["units"] {
			return nil, notInPyTorch("layers of two kinds: %s and %s", forward.Class, backward.Class)
		}
	}
	var links []weights.Link
	for _, d := range []struct {
		layer          *Layer
		prefix, suffix string
	}{{forward, "forward/", ""}, {backward, "backward/", "_reverse"}} {
		one := *d.layer
		one.Config = maps.Clone(one.Config)
		delete(one.Config, "go_backwards")
		one.Weights = weightsBelow(l, d.prefix)
		some, err := recurrentLinks(&one)
		if err != nil {
			return nil, err
		}
		for _, link := range some {
			links = append(links, weights.Link{From: prefixed(d.prefix, link.From), To: suffixed(link.To, d.suffix), Op: link.Op})
		}
	}
	return links, nil
}

// recurrentWithin returns the recurrent layer that a setting describes: an LSTM for an RNN around an LSTMCell.
func recurrentWithin(l *Layer, setting string) (*Layer, error) {
	inner, err := wrapped(l, setting)
	if err == nil && inner.Class == "RNN" {
		var layers []*Layer
		if layers, _, err = layersOf(inner); err == nil && len(layers) > 1 {
			err = notInPyTorch("several cells, one on another")
		}
		if err == nil {
			inner = layers[0]
		}
	}
	if err == nil && stackKey(inner) == "" {
		err = notInPyTorch("layer of class %s", inner.Class)
	}
	return inner, err
}

func prefixed(prefix string, names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = prefix + name
	}
	return list
}

func suffixed(names []string, suffix string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = name + suffix
	}
	return list
}

func bidirectionalShapes(l *Layer, in [][]int) ([][]int, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	if inner.Class != "LSTM" && inner.Class != "GRU" && inner.Class != "SimpleRNN" {
		return nil, unsupported("around a %s", inner.Class)
	}
	shapes, err := recurrentShapes(inner, in)
	if mode, _ := l.Text("merge_mode", "concat"); err == nil && mode == "concat" {
		shapes[0][len(shapes[0])-1] *= 2
	}
	return shapes, err
}

func bidirectionalNodes(b *builder, u use, in []value) (value, error) {
	inner, err := wrapped(u.Layer, "layer")
	if err != nil {
		return value{}, err
	}
	if mode, _ := u.Text("merge_mode", ""); mode != "concat" {
		return value{}, unsupported("merge_mode %q", mode)
	}
	layer, err := recurrentLayer(inner, in)
	if err != nil {
		return value{}, err
	}
	for _, settings := range layer {
		settings.(map[string]any)["bidirectional"] = true
	}
	v, err := b.last(in[0])
	v.node = b.add(u, "", layer, v.node)
	return v, err
}

func bidirectional(l *Layer) ([]Variable, error) {
	forward, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	list, ok, err := Variables(forward)
	if err == nil && !ok {
		err = errUnknown
	}
	return append(within("forward/", "forward_layer", list), within("backward/", "backward_layer", list)...), err
}
