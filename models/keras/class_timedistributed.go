package keras

import "github.com/h5dnn/h5dnn/models/weights"

// TimeDistributed applies a layer to each step, as PyTorch's Linear does by itself.
var _ = register(class{
	variables: timeDistributed, shapes: timeDistributedShapes, order: denseOrder,
	links: func(l *settings) []weights.Link {
		inner := l.within()
		if links := classes[inner.Class].links; links != nil {
			return links(inner)
		}
		l.fail(notInPyTorch("layer of class %s", inner.Class))
		return nil
	},
	module: func(l *settings, in [][]int) *module {
		inner := l.within()
		if inner.Class != "Dense" {
			return &module{differs: notInPyTorch("layer %s for each step; PyTorch's modules take batches: merge both axes", inner.Class)}
		}
		return denseModule(inner, in)
	},
	nodes: func(b *builder, l *settings, in []value) value {
		inner := l.within()
		if inner.Class != "Dense" { // which acts on the last axis anyway
			l.refuse("around a %s", inner.Class)
			return in[0]
		}
		return b.activated(inner, denseNodes(b, inner, in))
	},
	samples: []Layer{
		sample(map[string]any{"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"units": 5.0}}}, w("kernel", 3, 5), w("bias", 5)),
		sample(map[string]any{"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"units": 5.0, "use_bias": false}}}, w("kernel", 3, 5)),
	},
}, "TimeDistributed")

// within returns the layer that l is around, with its name and weights.
func (l *settings) within() *settings {
	inner := l.wrapped("layer")
	inner.Name, inner.Weights = l.Name, l.Weights
	return inner
}

func timeDistributedShapes(l *settings, in [][]int) [][]int {
	inner := l.wrapped("layer")
	c, ok := classes[inner.Class]
	switch {
	case !ok || len(in[0]) < 2:
		l.refuse("around a %s", inner.Class)
	case c.shapes == nil:
		return in[:1]
	default:
		if shapes := c.shapes(inner, [][]int{in[0][1:]}); len(shapes) > 0 {
			return [][]int{append([]int{in[0][0]}, shapes[0]...)}
		}
	}
	return nil
}

func timeDistributed(l *settings) []Variable {
	inner := l.wrapped("layer")
	if inner.Model == nil {
		return within("", "layer", variablesOf(inner))
	}
	on := l.Config["trainable"] != false && inner.Config["trainable"] != false
	return within("", "layer", trainedFirst(variablesWithin(l, inner.Model, on)))
}
