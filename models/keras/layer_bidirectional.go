package keras

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Bidirectional: the parameters of the layer that goes backwards end in _reverse.
var _ = registerRule(Rule{
	Class: "Bidirectional", Counterpart: "nn.RNN, nn.LSTM, nn.GRU with bidirectional",
	Links: bidirectionalLinks,
	Module: func(l *Layer) (string, error) {
		inner, err := recurrentWithin(l, "layer")
		if err != nil {
			return "", err
		}
		rule, ok := rules[inner.Class]
		if !ok {
			return "", notInPyTorch("layer of class %s", inner.Class)
		}
		inner.Weights = l.Weights
		return recurrentCall(inner, rule.Counterpart, 0, true)
	},
	Samples: []Layer{
		sample("Bidirectional", map[string]any{"merge_mode": "concat", "layer": map[string]any{"class_name": "LSTM", "config": map[string]any{"units": 2.0}}},
			w("forward/kernel", 3, 8), w("forward/recurrent_kernel", 2, 8), w("forward/bias", 8),
			w("backward/kernel", 3, 8), w("backward/recurrent_kernel", 2, 8), w("backward/bias", 8)),
		sample("Bidirectional", map[string]any{"layer": map[string]any{"class_name": "GRU", "config": map[string]any{"units": 2.0}}},
			w("forward/kernel", 3, 6), w("forward/recurrent_kernel", 2, 6), w("forward/bias", 2, 6),
			w("backward/kernel", 3, 6), w("backward/recurrent_kernel", 2, 6), w("backward/bias", 2, 6)),
	},
})

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
		one.Config = withoutKey(one.Config, "go_backwards")
		for _, have := range l.Weights {
			if name, ok := strings.CutPrefix(have.Name, d.prefix); ok {
				have.Name = name
				one.Weights = append(slices.Clone(one.Weights), have)
			}
		}
		order, ok := recurrentGates[one.Class]
		if !ok {
			return nil, notInPyTorch("layer of class %s", one.Class)
		}
		some, err := recurrentLinks(&one, order)
		if err != nil {
			return nil, err
		}
		for _, link := range some {
			links = append(links, weights.Link{From: prefixed(d.prefix, link.From), To: suffixed(link.To, d.suffix), Op: link.Op})
		}
	}
	return links, nil
}

// recurrentWithin returns the layer that a setting describes: an LSTM for an RNN around an LSTMCell.
func recurrentWithin(l *Layer, setting string) (*Layer, error) {
	inner, err := innerLayer(l, setting)
	if err != nil || inner.Class != "RNN" {
		return inner, err
	}
	layers, err := cellLayers(inner)
	if err == nil && hasStack(inner) {
		err = notInPyTorch("several cells, one on another")
	}
	if err != nil {
		return nil, err
	}
	return layers[0], nil
}

// innerLayer returns the layer that a setting describes, without weights.
func innerLayer(l *Layer, setting string) (*Layer, error) {
	described, ok := l.Config[setting].(map[string]any)
	class, isText := described["class_name"].(string)
	config, _ := described["config"].(map[string]any)
	if !ok || !isText {
		return nil, notInPyTorch("setting %s does not describe a layer; convert from a file with the architecture", setting)
	}
	return &Layer{Class: class, Name: l.Name, Config: config}, nil
}

func withoutKey(m map[string]any, key string) map[string]any {
	left := map[string]any{}
	for k, v := range m {
		if k != key {
			left[k] = v
		}
	}
	return left
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
