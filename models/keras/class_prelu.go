package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// PReLU: alpha of the channels is PyTorch's weight if it is shared over all other axes.
var _ = register(class{
	variables: fixed(positions("alpha")...), settings: always, nodes: preluNodes,
	arrays: func(l *Layer, _ int) map[string][]int {
		bare := *l
		bare.Weights = nil
		if shape, err := alphaShape(&bare); err == nil && shape != nil {
			return map[string][]int{"alpha": shape}
		}
		return nil
	},
	pytorch: "nn.PReLU",
	links:   func(l *Layer) ([]weights.Link, error) { return preluLinks(l, false) },
	call: func(l *Layer) (string, error) {
		alpha, ok := l.Weight("alpha")
		if !ok {
			return "nn.PReLU(?)", nil
		}
		return newCall("nn.PReLU", alpha.Array.Len()).String(), nil
	},
	features: []string{"alpha"}, kept: true,
	samples: []Layer{
		sample(map[string]any{"shared_axes": []any{1.0, 2.0}}, w("alpha", 1, 1, 4)),
		sample(map[string]any{}, w("alpha", 4)),
	},
}, "PReLU")

// preluLinks returns the links of a PReLU of inputs with the channels first or last.
func preluLinks(l *Layer, first bool) ([]weights.Link, error) {
	shape, err := alphaShape(l)
	if err != nil {
		return nil, err
	}
	if len(shape) < 2 {
		return []weights.Link{linked("alpha", "weight", weights.Same{})}, nil
	}
	channels, others := len(shape)-1, "the last"
	if first {
		channels, others = 0, "the first"
	}
	for axis, n := range shape {
		if axis != channels && n != 1 {
			return nil, notInPyTorch("alpha of shape %v; PyTorch has one for each channel: shared_axes must be all but %s", shape, others)
		}
	}
	keras := slices.Repeat([]int{1}, len(shape))
	keras[channels] = -1
	return []weights.Link{linked("alpha", "weight", weights.ReshapeOp(keras, []int{-1}))}, nil
}

// channelsFirstPReLU returns the links of a PReLU of images that have the channels first in Keras,
// too.
func channelsFirstPReLU(l *Layer) ([]weights.Link, error) {
	links, err := preluLinks(l, true)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", l.Class, l.Name, err)
	}
	return links, nil
}

// alphaShape returns the shape of the weight of a PReLU, nil if it is not known.
func alphaShape(l *Layer) ([]int, error) {
	if alpha, ok := l.Weight("alpha"); ok {
		return alpha.Array.Shape, nil
	}
	if len(l.InputShapes) == 0 {
		return nil, nil
	}
	shape := slices.Clone(l.InputShapes[0])
	shared, err := l.Ints("shared_axes")
	for _, axis := range shared {
		if axis >= 1 && axis <= len(shape) {
			shape[axis-1] = 1
		}
	}
	return shape, err
}

// preluNodes needs one slope for each channel.
func preluNodes(b *builder, u use, in []value) (value, error) {
	shared, err := u.Ints("shared_axes")
	if err != nil {
		return value{}, err
	}
	v := b.toFirst(in[0])
	if len(shared) != len(v.shape)-1 {
		return v, unsupported("a slope for each element; shared_axes must be all but the channels")
	}
	v.node = b.add(u, "", map[string]any{"prelu": map[string]any{"num_parameters": v.shape[len(v.shape)-1]}}, v.node)
	return v, nil
}
