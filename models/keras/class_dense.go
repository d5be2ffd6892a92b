package keras

import (
	"fmt"
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
	reverse:  map[string]reversal{"dense": reversed("Dense", denseSettings), "linear": reversed("Dense", denseSettings)},
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

// denseNodes adds a dense layer for vectors. For the last axis of a larger sample it is a
// convolution over windows of one element.
func denseNodes(b *builder, l *settings, in []value) value {
	v := in[0]
	axes := len(v.shape) - 1
	before, again := b.kernels[l.path]
	m := denseModule(l, [][]int{v.shape})
	if axes > 0 {
		features, units := featuresOf(v.shape), m.settings["out_features"].(int)
		if axes > 3 || features < 1 {
			l.refuse("an input of shape %v", v.shape)
		}
		v = b.toFirst(v)
		one := slices.Repeat([]int{1}, axes)
		m = constructed(fmt.Sprintf("conv%dd", axes), "", map[string]any{"in_channels": features, "out_channels": units, "kernel_size": one, "bias": m.settings["bias"]})
		b.kernels[l.path] = weights.ReshapeOp([]int{units, features}, append([]int{units, features}, one...))
	}
	after, now := b.kernels[l.path]
	if _, emitted := b.emitted[l.path+"/"]; emitted && (again != now || again != (axes > 0) || again && before.String() != after.String()) {
		l.refuse("inputs of %d axes and of another number", len(v.shape))
	}
	if v = b.module(l, v, m); axes == 0 {
		v.flat, v.parts = nil, nil
	}
	return v
}

// denseSettings returns Keras's settings of a dense layer of package nn.
func denseSettings(l *settings, v tensor) map[string]any {
	if v.rank != 1 {
		l.refuse("an input of %d axes", v.rank)
	}
	return map[string]any{"units": l.Int("out_features", 0), "use_bias": l.Bool("bias", true), "activation": "linear"}
}
