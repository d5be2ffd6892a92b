package keras

import "github.com/h5dnn/h5dnn/models/weights"

// TimeDistributed applies a layer to each step, as PyTorch's Linear does by itself.
var _ = registerRule(Rule{
	Class: "TimeDistributed", Counterpart: "that of its layer",
	Links: func(l *Layer) ([]weights.Link, error) {
		inner, err := innerLayer(l, "layer")
		if err != nil {
			return nil, err
		}
		inner.Weights = l.Weights
		rule, ok := rules[inner.Class]
		if !ok {
			return nil, notInPyTorch("layer of class %s", inner.Class)
		}
		return rule.Links(inner)
	},
	Module: func(l *Layer) (string, error) {
		inner, err := innerLayer(l, "layer")
		if err != nil {
			return "", err
		}
		inner.Weights = l.Weights
		if inner.Class == "Dense" {
			return linear(inner), nil
		}
		return "", notInPyTorch("layer %s for each step; PyTorch's modules take batches: merge both axes", inner.Class)
	},
	Samples: []Layer{sample("TimeDistributed", map[string]any{"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"units": 5.0}}},
		w("kernel", 3, 5), w("bias", 5))},
})
