package keras

import (
	"github.com/h5dnn/h5dnn/models/weights"
)

// Layers that models of keras.applications define.
var (
	// LayerScale of ConvNeXt multiplies each channel of images by a number: a depthwise convolution with windows of one element.
	_ = register(class{
		variables: fixed(positions("gamma")...), axes: func(b *builder, _ *settings, v value) value { return b.toFirst(v) }, kept: true,
		module: func(l *settings, in [][]int) *module {
			if len(in[0]) != 3 {
				l.refuse("samples of shape %v; want images", in[0])
			}
			channels := l.sizeOr(featuresOf(in[0]), "gamma", 0)
			return constructed("conv2d", "nn.Conv2d in_channels out_channels kernel_size= groups=1 bias=True", map[string]any{
				"in_channels": channels, "out_channels": channels, "kernel_size": 1, "groups": channels, "bias": false,
			})
		},
		arrays: lastAxisVectors("gamma"),
		links: func(*settings) []weights.Link {
			return []weights.Link{linked("gamma", "weight", weights.ReshapeOp([]int{-1}, []int{-1, 1, 1, 1}))}
		},
		samples: []Layer{{Config: map[string]any{}, Weights: []Weight{w("gamma", 4)}, InputShapes: [][]int{{7, 6, 4}}}},
	}, "LayerScale")
	// CustomScaleLayer of InceptionResNetV2 adds the second input, scaled, to the first.
	_ = register(class{several: true, shapes: mergeShapes, order: mergeOrder, nodes: func(b *builder, l *settings, in []value) value {
		if len(in) != 2 {
			l.refuse("%d inputs; want two", len(in))
			return in[0]
		}
		all := b.alike(in)
		scaled := b.add(l, "scaled", map[string]any{"rescale": map[string]any{"scale": l.Float("scale", 1)}}, all[1].node)
		v := all[0]
		v.node = b.add(l, "", "add", v.node, scaled)
		return v
	}}, "CustomScaleLayer")
)
