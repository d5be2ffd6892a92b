package checkpoint

import (
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// PReLU: alpha of the channels is PyTorch's weight if it is shared over all other axes.
var _ = register(Rule{
	Class: "PReLU", Counterpart: "nn.PReLU",
	Links: func(l *Layer) ([]Link, error) {
		alpha, ok := l.Weight("alpha")
		if !ok {
			if len(l.InputShapes) == 0 {
				return []Link{{[]string{"alpha"}, []string{"weight"}, Same{}}}, nil
			}
			shared, err := l.Ints("shared_axes")
			if err != nil {
				return nil, err
			}
			shape := slices.Clone(l.InputShapes[0])
			for _, axis := range shared {
				if axis >= 1 && axis <= len(shape) {
					shape[axis-1] = 1
				}
			}
			alpha.Array.View = views.Of(shape...)
		}
		shape := alpha.Array.Shape
		for axis, n := range shape {
			if axis < len(shape)-1 && n != 1 {
				return nil, unsupported("alpha of shape %v; PyTorch has one for each channel: shared_axes must be all but the last", shape)
			}
		}
		if len(shape) == 1 {
			return []Link{{[]string{"alpha"}, []string{"weight"}, Same{}}}, nil
		}
		return []Link{{[]string{"alpha"}, []string{"weight"}, ReshapeOp(append(ones(len(shape)-1), -1), []int{-1})}}, nil
	},
	Module: func(l *Layer) (string, error) {
		alpha, ok := l.Weight("alpha")
		if !ok {
			return "nn.PReLU(?)", nil
		}
		return newCall("nn.PReLU", alpha.Array.Len()).String(), nil
	},
	Features: []string{"alpha"}, Elementwise: true,
	Samples: []Layer{
		sample("PReLU", map[string]any{"shared_axes": []any{1.0, 2.0}}, w("alpha", 1, 1, 4)),
		sample("PReLU", map[string]any{}, w("alpha", 4)),
	},
})
