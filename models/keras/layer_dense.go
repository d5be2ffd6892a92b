package keras

import "github.com/h5dnn/h5dnn/models/weights"

// Dense: kernel (in, out) is the transpose of Linear's weight (out, in).
var _ = registerRule(Rule{
	Class: "Dense", Counterpart: "nn.Linear", Layer: "dense",
	Links: func(l *Layer) ([]weights.Link, error) {
		return biasedLinks(l, linked("kernel", "weight", weights.TransposeOp(1, 0)))
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
