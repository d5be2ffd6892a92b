package checkpoint

// Dense: kernel (in, out) is the transpose of Linear's weight (out, in).
var _ = register(Rule{
	Class: "Dense", Counterpart: "nn.Linear", Layer: "dense",
	Links: func(l *Layer) ([]Link, error) {
		return biased(l, Link{[]string{"kernel"}, []string{"weight"}, TransposeOp(1, 0)})
	},
	Module: func(l *Layer) (string, error) {
		return linear(l), nil
	},
	Features: []string{"kernel"},
	Samples: []Layer{
		sample("Dense", map[string]any{"units": 5, "use_bias": true}, w("kernel", 3, 5), w("bias", 5)),
		sample("Dense", map[string]any{"units": 5, "use_bias": false}, w("kernel", 3, 5)),
	},
})

func linear(l *Layer) string {
	c := newCall("nn.Linear", size(l, "kernel", 0), size(l, "kernel", 1))
	if bias, _ := l.Bool("use_bias", hasWeight(l, "bias")); !bias {
		c.set("bias", false)
	}
	return c.String()
}
