package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/models/weights"
)

// PReLU: alpha of the channels is PyTorch's weight if it is shared over all other axes.
var _ = register(class{
	variables: fixed(positions("alpha")...),
	module: func(l *settings, in [][]int) *module {
		m := constructed("prelu", "nn.PReLU num_parameters", map[string]any{})
		if alpha, ok := l.Weight("alpha"); ok {
			m.pytorch["num_parameters"] = alpha.Array.Len()
		}
		if len(in[0]) > 1 && len(l.Ints("shared_axes")) != len(in[0])-1 {
			if shape := alphaShape(l); product(shape) < 1 {
				m.notRun = fmt.Errorf("the shape of the slopes, %v, is not known: %w", shape, ErrConfig)
			} else {
				m.settings["shape"] = shape
			}
			return m
		}
		return m.size("num_parameters", featuresOf(in[0]))
	},
	axes: func(b *builder, l *settings, v value) value {
		if len(l.Ints("shared_axes")) != len(v.shape)-1 {
			return b.last(v)
		}
		return b.toFirst(v)
	},
	own: func(l *settings) []weights.Link {
		if shape := alphaShape(l); len(shape) > 1 && len(l.Ints("shared_axes")) != len(shape)-1 {
			return []weights.Link{linked("alpha", "weight", weights.Same)}
		}
		return preluLinks(l, false)
	},
	arrays: func(l *settings, _ int) map[string][]int {
		bare := *l.Layer
		if bare.Weights = nil; len(l.InputShapes) == 0 {
			return nil
		}
		return map[string][]int{"alpha": alphaShape(l.of(&bare))}
	},
	links: func(l *settings) []weights.Link { return preluLinks(l, false) },
	ordered: func(l *settings, in featureLayout) ([]weights.Link, *settings) {
		return preluLinks(l, in.layout == channelsAreFirst), l
	},
	reverse: map[string]reversal{"prelu": func(r *reverser, l *settings, in []tensor) tensor {
		v := in[0]
		if l.Config["shape"] != nil || l.Int("num_parameters", 1) == 1 {
			l.refuse("slopes that are not of the channels")
		}
		var shared []any
		for axis := 1; axis < v.rank; axis++ {
			shared = append(shared, axis)
		}
		return r.layer("PReLU", l.Name, map[string]any{"shared_axes": shared}, v)
	}},
	features: []string{"alpha"}, kept: true,
	samples: []Layer{
		sample(map[string]any{"shared_axes": []any{1.0, 2.0}}, w("alpha", 1, 1, 4)),
		sample(map[string]any{}, w("alpha", 4)),
	},
}, "PReLU")

// preluLinks returns the links of a PReLU of inputs with the channels first or last.
func preluLinks(l *settings, first bool) []weights.Link {
	shape := alphaShape(l)
	if len(shape) < 2 {
		return []weights.Link{linked("alpha", "weight", weights.Same)}
	}
	channels, others := len(shape)-1, "the last"
	if first {
		channels, others = 0, "the first"
	}
	for axis, n := range shape {
		if axis != channels && n != 1 {
			l.fail(notInPyTorch("alpha of shape %v; PyTorch has one for each channel: shared_axes must be all but %s", shape, others))
		}
	}
	keras := slices.Repeat([]int{1}, len(shape))
	keras[channels] = -1
	return []weights.Link{linked("alpha", "weight", weights.ReshapeOp(keras, []int{-1}))}
}

// alphaShape returns the shape of the weight of a PReLU, nil if it is not known.
func alphaShape(l *settings) []int {
	if alpha, ok := l.Weight("alpha"); ok {
		return alpha.Array.Shape
	}
	if len(l.InputShapes) == 0 {
		return nil
	}
	shape := slices.Clone(l.InputShapes[0])
	for _, axis := range l.Ints("shared_axes") {
		if axis >= 1 && axis <= len(shape) {
			shape[axis-1] = 1
		}
	}
	return shape
}
