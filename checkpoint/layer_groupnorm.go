package checkpoint

// GroupNormalization: the same vectors. PyTorch has both of them or none.
var _ = register(Rule{
	Class: "GroupNormalization", Counterpart: "nn.GroupNorm",
	Links: func(l *Layer) ([]Link, error) {
		noScale, noCenter := isFalse(l, "scale", "gamma"), isFalse(l, "center", "beta")
		gamma := Link{[]string{"gamma"}, []string{"weight"}, Same{}}
		beta := Link{[]string{"beta"}, []string{"bias"}, Same{}}
		switch {
		case noScale && noCenter:
			return nil, nil
		case noScale:
			return []Link{{[]string{"beta"}, []string{"weight", "bias"}, ConstantOp{1}}}, nil
		case noCenter:
			return []Link{{[]string{"gamma"}, []string{"bias", "weight"}, ConstantOp{0}}}, nil
		}
		return []Link{gamma, beta}, nil
	},
	Module: func(l *Layer) (string, error) {
		eps, err1 := l.Float("epsilon", 1e-3)
		groups, err2 := l.Int("groups", 32)
		channels := normalized(l, "gamma", "beta")
		if groups == -1 {
			return newCall("nn.GroupNorm", channels, channels).set("eps", eps).String(), firstOf(err1, err2)
		}
		return newCall("nn.GroupNorm", groups, channels).set("eps", eps).String(), firstOf(err1, err2)
	},
	Samples: []Layer{
		sample("GroupNormalization", map[string]any{"groups": 2}, w("gamma", 4), w("beta", 4)),
		sample("GroupNormalization", map[string]any{"groups": 2, "scale": false}, w("beta", 4)),
		sample("GroupNormalization", map[string]any{"groups": 2, "center": false}, w("gamma", 4)),
	},
})
