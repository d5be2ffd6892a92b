package keras

import "github.com/h5dnn/h5dnn/models/weights"

// TimeDistributed applies a layer to each step, as PyTorch's Linear does by itself.
var _ = register(class{
	variables: timeDistributed, settings: wrapping("Dense"), shapes: timeDistributedShapes, nodes: timeDistributedNodes, order: denseOrder,
	pytorch: "its layer",
	links: func(l *Layer) ([]weights.Link, error) {
		inner, err := wrapped(l, "layer")
		if err != nil {
			return nil, err
		}
		inner.Weights = l.Weights
		if classes[inner.Class].links == nil {
			return nil, notInPyTorch("layer of class %s", inner.Class)
		}
		return classes[inner.Class].links(inner)
	},
	call: func(l *Layer) (string, error) {
		inner, err := wrapped(l, "layer")
		if err != nil {
			return "", err
		}
		inner.Weights = l.Weights
		if inner.Class == "Dense" {
			return linear(inner), nil
		}
		return "", notInPyTorch("layer %s for each step; PyTorch's modules take batches: merge both axes", inner.Class)
	},
	samples: []Layer{sample(map[string]any{"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"units": 5.0}}},
		w("kernel", 3, 5), w("bias", 5))},
}, "TimeDistributed")

func timeDistributedShapes(l *Layer, in [][]int) ([][]int, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	c, ok := classes[inner.Class]
	if !ok || len(in[0]) < 2 {
		return nil, unsupported("around a %s", inner.Class)
	}
	if c.shapes == nil {
		return in[:1], nil
	}
	shapes, err := c.shapes(inner, [][]int{in[0][1:]})
	if err != nil {
		return nil, err
	}
	return [][]int{append([]int{in[0][0]}, shapes[0]...)}, nil
}

func timeDistributedNodes(b *builder, u use, in []value) (value, error) {
	inner, err := wrapped(u.Layer, "layer")
	if err != nil {
		return value{}, err
	}
	if inner.Class != "Dense" { // which acts on the last axis anyway
		return value{}, unsupported("around a %s", inner.Class)
	}
	inner.Name = u.Name
	v, err := denseNodes(b, use{inner, u.path}, in)
	if err != nil {
		return v, err
	}
	return b.activated(use{inner, u.path}, v)
}

func timeDistributed(l *Layer) ([]Variable, error) {
	inner, err := wrapped(l, "layer")
	if err != nil {
		return nil, err
	}
	if inner.Model != nil {
		list, err := ModelVariables(inner.Model, l.Config["trainable"] != false && inner.Config["trainable"] != false)
		return within("", "layer", list), err
	}
	list, ok, err := Variables(inner)
	if err == nil && !ok {
		err = errUnknown
	}
	return within("", "layer", list), err
}
