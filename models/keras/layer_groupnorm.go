package keras

import "github.com/h5dnn/h5dnn/models/weights"

// GroupNormalization: the same vectors. PyTorch has both of them or none.
var _ = registerRule(Rule{
	Class: "GroupNormalization", Counterpart: "nn.GroupNorm",
	Links: func(l *Layer) ([]weights.Link, error) {
		noScale, noCenter := isFalse(l, "scale", "gamma"), isFalse(l, "center", "beta")
		gamma := linked("gamma", "weight", weights.Same{})
		beta := linked("beta", "bias", weights.Same{})
		switch {
		case noScale && noCenter:
			return nil, nil
		case noScale:
			return []weights.Link{weights.Link{From: []string{"beta"}, To: []string{"weight", "bias"}, Op: weights.ConstantOp{Value: 1}}}, nil
		case noCenter:
			return []weights.Link{weights.Link{From: []string{"gamma"}, To: []string{"bias", "weight"}, Op: weights.ConstantOp{Value: 0}}}, nil
		}
		return []weights.Link{gamma, beta}, nil
	},
	Module: func(l *Layer) (string, error) {
		eps, err1 := l.Float("epsilon", 1e-3)
		groups, err2 := l.Int("groups", 32)
		channels := normalizedShape(l, "gamma", "beta")
		if groups == -1 {
			return newCall("nn.GroupNorm", channels, channels).set("eps", eps).String(), first(err1, err2)
		}
		return newCall("nn.GroupNorm", groups, channels).set("eps", eps).String(), first(err1, err2)
	},
	Samples: []Layer{
		sample("GroupNormalization", map[string]any{"groups": 2}, w("gamma", 4), w("beta", 4)),
		sample("GroupNormalization", map[string]any{"groups": 2, "scale": false}, w("beta", 4)),
		sample("GroupNormalization", map[string]any{"groups": 2, "center": false}, w("gamma", 4)),
	},
})
