package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/internal/errkind"
)

var (
	_ = register(class{order: imageOrder}, "InputLayer")
	_ = register(class{copies: true, shapes: flattenShapes, nodes: flattenNodes, order: flattenOrder, reverse: map[string]reversal{
		"flatten": func(r *reverser, l *settings, in []tensor) tensor {
			out := r.layer("Flatten", l.Name, nil, in[0])
			if r.flattens[out.ref.Layer], r.ranks[out.ref.Layer] = in[0].first, in[0].rank; in[0].first && in[0].rank > 1 {
				out.flattens = []string{out.ref.Layer}
			}
			out.rank, out.first = 1, false
			return out
		},
	}}, "Flatten")
	_ = register(class{copies: true, shapes: reshapeShapes, nodes: reshapeNodes, order: reshapeOrder, reverse: map[string]reversal{
		"reshape": func(r *reverser, l *settings, in []tensor) tensor {
			shape := l.Ints("shape")
			out := r.layer("Reshape", l.Name, map[string]any{"target_shape": shape}, in[0])
			out.rank = len(shape)
			return out
		},
	}}, "Reshape")
	_ = register(class{copies: true, shapes: permuteShapes, nodes: permuteNodes, order: permuteOrder, reverse: map[string]reversal{"permute": reversePermute}}, "Permute")
	_ = register(dropoutClass("dropout", func(int) string { return "Dropout" }), "Dropout")
	_ = register(dropoutClass("alpha_dropout", func(int) string { return "AlphaDropout" }), "AlphaDropout")
	_ = register(dropoutClass("dropout2d", func(rank int) string { return "SpatialDropout" + dimension(rank-1) }), "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
	_ = register(class{copies: true, nodes: passing, kept: true}, "Identity", "ActivityRegularization")
	_ = register(class{nodes: trainingOnly, training: true, kept: true}, "GaussianNoise", "GaussianDropout")
	_ = register(class{module: rescaleModule, kept: true, reverse: map[string]reversal{"rescale": reversed("Rescaling", scaleAndOffset)}}, "Rescaling")
	_ = register(edgeClass("padding", "zeropad", 1), "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
	_ = register(edgeClass("cropping", "crop", -1), "Cropping1D", "Cropping2D", "Cropping3D")
	_ = register(class{shapes: upsampleShapes, module: upsampleModule, axes: spatially, spatial: true, reverse: map[string]reversal{
		"upsample": func(r *reverser, l *settings, in []tensor) tensor { // of the nearest elements by default
			scale, config := l.Ints("scale"), map[string]any{}
			switch kind := l.Text("mode", "nearest"); {
			case len(scale) == 0 || l.Bool("align_corners", false):
				l.refuse("a size of the result, or aligned corners")
				return in[0]
			case kind == "nearest":
			case len(scale) == 2:
				config["interpolation"] = "bilinear"
			default:
				l.refuse("mode %s of %d axes", kind, len(scale))
			}
			config["size"] = unlisted(scale)
			return r.layer("UpSampling"+dimension(len(scale)), l.Name, config, in[0])
		},
	}}, "UpSampling1D", "UpSampling2D", "UpSampling3D")
	_ = register(class{kept: true, outputs: maskingOutputs, differs: func(*settings) error {
		return notInPyTorch("later layers skip the steps that it masks; PyTorch's modules take packed sequences")
	}}, "Masking")
	_ = register(class{variables: variablesOfFile, nodes: passing,
		shapes: func(l *settings, _ [][]int) [][]int {
			l.refuse("it is a program that the file holds")
			return nil
		},
		differs: func(*settings) error {
			return errkind.Errorf(ErrNotInPyTorch, "a Lambda is Python code, which is not run")
		}}, "Lambda")
	_ = register(class{copies: true, shapes: repeatShapes, nodes: repeatNodes}, "RepeatVector")
)

// maskingOutputs adds a layer whose second output is the mask.
func maskingOutputs(b *builder, l *settings, in []value) []value {
	v := b.last(in[0])
	node := b.add(l, "", map[string]any{"masking": map[string]any{"mask_value": l.Float("mask_value", 0)}}, v.node)
	v.node, v.mask = node+".0", node+".1"
	return []value{v}
}

func passing(_ *builder, _ *settings, in []value) value { return in[0] }

// dropoutClass is the class of a layer of package nn that drops parts of its input in training; named returns the name of the class
// for an input of that rank.
func dropoutClass(layer string, named func(rank int) string) class {
	c := class{training: true, kept: true, module: func(l *settings, _ [][]int) *module {
		return constructed(layer, "", map[string]any{"p": l.Float("rate", 0.5)})
	}, reverse: map[string]reversal{layer: func(r *reverser, l *settings, in []tensor) tensor {
		return r.layer(named(in[0].rank), l.Name, map[string]any{"rate": l.Float("p", 0.5)}, in[0])
	}}}
	if layer == "dropout2d" {
		c.axes = spatially
	}
	return c
}

// trainingOnly leaves out a layer that does nothing but in training.
func trainingOnly(b *builder, l *settings, in []value) value {
	b.notes = append(b.notes, fmt.Sprintf("layer %s (%s) is left out; it acts in training only", l.path, l.Class))
	return in[0]
}

func flattenShapes(_ *settings, in [][]int) [][]int { return [][]int{{product(in[0])}} }

func flattenNodes(b *builder, l *settings, in []value) value {
	v := in[0]
	n := len(v.shape)
	if n == 1 {
		return v
	}
	if n == 0 {
		l.refuse("a scalar for each sample")
		return v
	}
	shape := v.shape
	if moved := channelsFirst(l); moved && l.Class == "Flatten" { // Keras moves the channels to the end
		v = b.last(v)
		shape = append(slices.Clone(v.shape[1:]), v.shape[0])
		v.first, v.shape = true, shape
	}
	if given := b.given[l.Name]; len(given) == n {
		shape = given
	}
	channelsFirst, said := b.flattens[l.path]
	if !said {
		channelsFirst = product(shape) > 0 && (v.first || n > 2 && !v.outer)
	}
	switch channels := shape[n-1]; {
	case channels == 1 || channels == product(shape) && channels > 0: // one order
	case channelsFirst && product(shape) < 1:
		l.refuse("the shape %v is not known in full", shape)
	case channelsFirst:
		v = b.toFirst(v)
		v.flat = [][]int{shape}
	default:
		v = b.last(v)
	}
	v.node, v.first = b.add(l, "", "flatten", v.node), false
	return v
}

func reshapeShapes(l *settings, in [][]int) [][]int {
	shape := slices.Clone(l.Ints("target_shape"))
	open, n := slices.Index(shape, -1), 1
	for i, size := range shape {
		if i != open {
			n *= size
		}
	}
	switch all := product(in[0]); {
	case n < 1:
		l.invalid("target_shape %v", shape)
	case open < 0 || all < 0:
	case all%n != 0:
		l.invalid("target_shape %v of %v", shape, in[0])
	default:
		shape[open] = all / n
	}
	return [][]int{shape}
}

func reshapeNodes(b *builder, l *settings, in []value) value {
	shape := l.Ints("target_shape")
	if len(shape) == 1 {
		return flattenNodes(b, l, in)
	}
	v := b.last(in[0])
	v.outer = false
	v.node = b.add(l, "", map[string]any{"reshape": map[string]any{"shape": shape}}, v.node)
	return v
}

func permuteShapes(l *settings, in [][]int) [][]int {
	axes := l.Ints("dims")
	sorted := slices.Sorted(slices.Values(axes))
	shape := make([]int, len(axes))
	for i, a := range axes {
		if len(axes) != len(in[0]) || sorted[i] != i+1 {
			l.invalid("dims %v of %v", axes, in[0])
			return nil
		}
		shape[i] = in[0][a-1]
	}
	return [][]int{shape}
}

func permuteNodes(b *builder, l *settings, in []value) value {
	v := b.last(in[0])
	v.outer = false
	v.node = b.add(l, "", map[string]any{"permute": map[string]any{"axes": l.Ints("dims")}}, v.node)
	return v
}

// reversePermute moves axes. Moving the channels to the front or back is what the order of axes
// in Keras does already.
func reversePermute(r *reverser, l *settings, in []tensor) tensor {
	v, axes := in[0], l.Ints("axes")
	switch front, back := channelsMoved(v.rank); {
	case !v.first && slices.Equal(axes, front):
		v.first = true
		return v
	case v.first && slices.Equal(axes, back):
		v.first = false
		return v
	}
	return r.layer("Permute", l.Name, map[string]any{"dims": axes}, r.ordered(v, false))
}

// channelsMoved returns the orders of axes, counted from 1, that move the last axis to the front, and back.
func channelsMoved(rank int) (front, back []int) {
	front = []int{rank}
	for axis := 1; axis < rank; axis++ {
		front, back = append(front, axis), append(back, axis+1)
	}
	return front, append(back, 1)
}

func repeatShapes(l *settings, in [][]int) [][]int {
	n := l.Int("n", 0)
	if n < 1 || len(in[0]) != 1 {
		l.invalid("%d times an input of shape %v", n, in[0])
	}
	return [][]int{append([]int{n}, in[0]...)}
}

// repeatNodes repeats a vector, of one step with the features as channels.
func repeatNodes(b *builder, l *settings, in []value) value {
	v := b.last(in[0])
	if v.shape[0] < 1 {
		l.refuse("an input of shape %v", v.shape)
	}
	v.node = b.convert(v, "step", map[string]any{"reshape": map[string]any{"shape": []int{v.shape[0], 1}}})
	v.node = b.add(l, "", map[string]any{"upsample": map[string]any{"scale": []int{l.Int("n", 0)}}}, v.node)
	v.first, v.flat = true, nil
	return v
}

func rescaleModule(l *settings, _ [][]int) *module {
	if _, ok := l.Config["scale"].([]any); ok {
		l.refuse("a scale for each channel")
	}
	return constructed("rescale", "", scaleAndOffset(l, tensor{}))
}

// scaleAndOffset returns the settings that a Rescaling has in both.
func scaleAndOffset(l *settings, _ tensor) map[string]any {
	return map[string]any{"scale": l.Float("scale", 1), "offset": l.Float("offset", 0)}
}

// edgeClass is the class of layers that add elements at the ends of axes, or remove them for a sign of -1.
func edgeClass(setting, layer string, sign int) class {
	return class{
		shapes: func(l *settings, in [][]int) [][]int {
			s := spatialOf(l, in[0], axesOf(l.Class))
			before, after := edges(l, setting)
			sizes := slices.Clone(s.sizes)
			for i, n := range sizes {
				if n >= 0 {
					sizes[i] = n + sign*(before[i]+after[i])
				}
			}
			return s.with(sizes, s.channels)
		},
		module: func(l *settings, _ [][]int) *module {
			before, after := edges(l, setting)
			return constructed(layer, "", map[string]any{"before": before, "after": after})
		},
		axes: spatially, spatial: true,
		reverse: map[string]reversal{layer: func(r *reverser, l *settings, in []tensor) tensor {
			before, after := l.Ints("before"), l.Ints("after")
			if after == nil {
				after = before
			}
			if len(before) == 0 || len(before) != len(after) {
				l.refuse("before %v and after %v", before, after)
				return in[0]
			}
			return r.padding(sign < 0, l.Name, before, after, in[0])
		}},
	}
}

// edges reads padding or cropping: n, [n, m] or [[n, n'], [m, m']].
func edges(l *settings, setting string) (before, after []int) {
	axes := axesOf(l.Class)
	list, ok := l.Config[setting].([]any)
	if !ok {
		before = l.each(setting, axes, 1)
		return before, before
	}
	if axes == 1 && len(list) == 2 {
		list = []any{list}
	}
	for _, one := range list {
		pair, ok := integers(one)
		if len(pair) == 1 {
			pair = append(pair, pair[0])
		}
		if !ok || len(pair) != 2 || slices.Min(pair) < 0 {
			break
		}
		before, after = append(before, pair[0]), append(after, pair[1])
	}
	if len(before) != axes || len(list) != axes {
		l.invalid("%s %.40v", setting, l.Config[setting])
		return make([]int, axes), make([]int, axes)
	}
	return before, after
}

func upsampleShapes(l *settings, in [][]int) [][]int {
	s := spatialOf(l, in[0], axesOf(l.Class))
	scale := l.each("size", axesOf(l.Class), 2)
	sizes := slices.Clone(s.sizes)
	for i, n := range sizes {
		if n > 0 {
			sizes[i] = n * scale[i]
		}
	}
	return s.with(sizes, s.channels)
}

func upsampleModule(l *settings, _ [][]int) *module {
	m := constructed("upsample", "", map[string]any{"scale": l.each("size", axesOf(l.Class), 2)})
	switch kind := l.Text("interpolation", "nearest"); kind {
	case "nearest":
	case "bilinear":
		m.settings["mode"] = kind
	default:
		l.refuse("interpolation %s", kind)
	}
	return m
}
