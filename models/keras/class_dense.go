package keras

import (
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// Dense: kernel (in, out) is the transpose of Linear's weight (out, in).
var _ = register(class{
	variables: weighted("kernel"), shapes: denseShapes, nodes: denseNodes, module: denseModule, activated: true, order: denseOrder,
	arrays: shaped(map[string]string{"kernel": "features units", "bias": "units"}),
	links: func(l *settings) []weights.Link {
		return biasedLinks(l, "bias", linked("kernel", "weight", weights.TransposeOp(1, 0)))
	},
	features: []string{"kernel"},
	reverse:  map[string]reversal{"dense": reverseDense, "linear": reverseDense},
	samples: []Layer{
		sample(map[string]any{"units": 5, "use_bias": true}, w("kernel", 3, 5), w("bias", 5)),
		sample(map[string]any{"units": 5, "use_bias": false}, w("kernel", 3, 5)),
	},
}, "Dense")

func denseModule(l *settings, in [][]int) *module {
	bias, units := l.Bool("use_bias", l.hasWeight("bias")), l.sizeOr(l.Int("units", 0), "kernel", 1)
	m := constructed("dense", "nn.Linear in_features out_features bias=True", map[string]any{"bias": bias})
	return m.size("out_features", units).size("in_features", l.sizeOr(featuresOf(in[0]), "kernel", 0))
}

func denseShapes(l *settings, in [][]int) [][]int {
	units := l.Int("units", 0)
	if units < 1 || len(in[0]) == 0 {
		l.refuse("%d units for an input of shape %v", units, in[0])
		return nil
	}
	return [][]int{append(slices.Clone(in[0][:len(in[0])-1]), units)}
}

// denseNodes adds a dense layer for the last axis.
func denseNodes(b *builder, l *settings, in []value) value {
	v := in[0]
	if len(v.shape) > 1 {
		v = b.last(v)
	}
	if v = b.module(l, v, denseModule(l, [][]int{v.shape})); len(v.shape) == 1 {
		v.flat, v.parts = nil, nil
	}
	return v
}

// reverseDense adds a Dense, whose outputs are in the order of package nn.
func reverseDense(r *reverser, l *settings, in []tensor) tensor {
	v := r.layer("Dense", l.Name, map[string]any{"units": l.Int("out_features", 0), "use_bias": l.Bool("bias", true), "activation": "linear"}, in[0])
	v.flattens = nil
	return v
}
