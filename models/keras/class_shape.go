package keras

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/internal/errkind"
)

var (
	_ = register(class{order: imageOrder}, "InputLayer")
	_ = register(class{shapes: flattenShapes, nodes: flattenNodes, order: flattenOrder}, "Flatten")
	_ = register(class{shapes: reshapeShapes, nodes: reshapeNodes, order: reshapeOrder}, "Reshape")
	_ = register(class{shapes: permuteShapes, nodes: permuteNodes, order: permuteOrder}, "Permute")
	_ = register(class{nodes: dropoutNodes, training: true, kept: true}, "Dropout")
	_ = register(class{nodes: passing, kept: true}, "Identity", "ActivityRegularization")
	_ = register(class{nodes: trainingOnly, training: true, kept: true}, "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianNoise", "GaussianDropout", "AlphaDropout")
	_ = register(class{nodes: rescaleNodes, kept: true}, "Rescaling")
	_ = register(class{shapes: edgeShapes("padding", 1), nodes: edgeNodes("padding", "zeropad"), spatial: true}, "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
	_ = register(class{shapes: edgeShapes("cropping", -1), nodes: edgeNodes("cropping", "crop"), spatial: true}, "Cropping1D", "Cropping2D", "Cropping3D")
	_ = register(class{shapes: upsampleShapes, nodes: upsampleNodes, spatial: true}, "UpSampling1D", "UpSampling2D", "UpSampling3D")
	_ = register(class{kept: true, differs: func(*Layer) error {
		return notInPyTorch("later layers skip the steps that it masks; PyTorch's modules take packed sequences")
	}}, "Masking")
	_ = register(class{variables: variablesOfFile, nodes: passing,
		shapes: func(*Layer, [][]int) ([][]int, error) {
			return nil, unsupported("it is a program that the file holds")
		},
		differs: func(*Layer) error {
			return errkind.Errorf(ErrNotInPyTorch, "a Lambda is Python code, which is not run")
		}}, "Lambda")
	_ = register(class{shapes: repeatShapes, nodes: repeatNodes}, "RepeatVector")
)

func passing(_ *builder, _ use, in []value) (value, error) { return in[0], nil }

// trainingOnly leaves out a layer that does nothing but in training.
func trainingOnly(b *builder, u use, in []value) (value, error) {
	b.notes = append(b.notes, fmt.Sprintf("layer %s (%s) is left out; it acts in training only", u.path, u.Class))
	return in[0], nil
}

func dropoutNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	rate, err := u.Float("rate", 0.5)
	v.node = b.add(u, "", map[string]any{"dropout": map[string]any{"p": rate}}, v.node)
	return v, err
}

func flattenShapes(_ *Layer, in [][]int) ([][]int, error) {
	return [][]int{{product(in[0])}}, nil
}

func flattenNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	n := len(v.shape)
	if n == 1 {
		return v, nil
	}
	if n == 0 {
		return v, unsupported("a scalar for each sample")
	}
	moved, err := channelsFirst(u.Layer)
	if err != nil {
		return v, err
	}
	shape := v.shape
	if u.Class == "Flatten" && moved { // Keras moves the channels to the end
		if v, err = b.last(v); err != nil {
			return v, err
		}
		shape = append(slices.Clone(v.shape[1:]), v.shape[0])
		v.first, v.shape = true, shape
	}
	if given := b.given[u.Name]; len(given) == n {
		shape = given
	}
	switch channels := shape[n-1]; {
	case channels == 1 || channels == product(shape) && channels > 0: // one order
	case product(shape) > 0 && (v.first || n > 2 && !v.outer):
		v = b.toFirst(v)
		v.flat, b.flattens[u.path] = [][]int{shape}, true
	default:
		if v, err = b.last(v); err != nil {
			return v, err
		}
	}
	v.node, v.first = b.add(u, "", "flatten", v.node), false
	return v, nil
}

func reshapeShapes(l *Layer, in [][]int) ([][]int, error) {
	shape, err := l.Ints("target_shape")
	if err != nil {
		return nil, err
	}
	shape = slices.Clone(shape)
	open, n := slices.Index(shape, -1), 1
	for i, size := range shape {
		if i != open {
			n *= size
		}
	}
	switch all := product(in[0]); {
	case n < 1:
		return nil, fmt.Errorf("target_shape %v: %w", shape, ErrConfig)
	case open < 0 || all < 0:
	case all%n != 0:
		return nil, fmt.Errorf("target_shape %v of %v: %w", shape, in[0], ErrConfig)
	default:
		shape[open] = all / n
	}
	return [][]int{shape}, nil
}

func reshapeNodes(b *builder, u use, in []value) (value, error) {
	shape, err := u.Ints("target_shape")
	if err != nil {
		return value{}, err
	}
	if len(shape) == 1 {
		return flattenNodes(b, u, in)
	}
	v, err := b.last(in[0])
	v.outer = false
	v.node = b.add(u, "", map[string]any{"reshape": map[string]any{"shape": shape}}, v.node)
	return v, err
}

func permuteShapes(l *Layer, in [][]int) ([][]int, error) {
	axes, err := l.Ints("dims")
	if err != nil {
		return nil, err
	}
	sorted := slices.Sorted(slices.Values(axes))
	shape := make([]int, len(axes))
	for i, a := range axes {
		if len(axes) != len(in[0]) || sorted[i] != i+1 {
			return nil, fmt.Errorf("dims %v of %v: %w", axes, in[0], ErrConfig)
		}
		shape[i] = in[0][a-1]
	}
	return [][]int{shape}, nil
}

func permuteNodes(b *builder, u use, in []value) (value, error) {
	axes, err1 := u.Ints("dims")
	v, err2 := b.last(in[0])
	v.outer = false
	v.node = b.add(u, "", map[string]any{"permute": map[string]any{"axes": axes}}, v.node)
	return v, first(err1, err2)
}

func repeatShapes(l *Layer, in [][]int) ([][]int, error) {
	n, err := l.Int("n", 0)
	if err == nil && (n < 1 || len(in[0]) != 1) {
		err = fmt.Errorf("%d times an input of shape %v: %w", n, in[0], ErrConfig)
	}
	return [][]int{append([]int{n}, in[0]...)}, err
}

// repeatNodes repeats a vector, of one step with the features as channels.
func repeatNodes(b *builder, u use, in []value) (value, error) {
	n, err1 := u.Int("n", 0)
	v, err2 := b.last(in[0])
	if err := first(err1, err2); err != nil || len(v.shape) != 1 || v.shape[0] < 1 {
		return v, first(err, unsupported("an input of shape %v", v.shape))
	}
	v.node = b.convert(v, "step", map[string]any{"reshape": map[string]any{"shape": []int{v.shape[0], 1}}})
	v.node = b.add(u, "", map[string]any{"upsample": map[string]any{"scale": []int{n}}}, v.node)
	v.first, v.flat = true, nil
	return v, nil
}

func rescaleNodes(b *builder, u use, in []value) (value, error) {
	v := in[0]
	if _, ok := u.Config["scale"].([]any); ok {
		return v, unsupported("a scale for each channel")
	}
	scale, err1 := u.Float("scale", 1)
	offset, err2 := u.Float("offset", 0)
	v.node = b.add(u, "", map[string]any{"rescale": map[string]any{"scale": scale, "offset": offset}}, v.node)
	return v, first(err1, err2)
}

// edges reads padding or cropping: n, [n, m] or [[n, n'], [m, m']].
func edges(l *Layer, setting string, axes int) (before, after []int, err error) {
	wrong := fmt.Errorf("%s %.40v: %w", setting, l.Config[setting], ErrConfig)
	list, ok := l.Config[setting].([]any)
	if !ok {
		n, err := l.Int(setting, 1)
		return slices.Repeat([]int{n}, axes), slices.Repeat([]int{n}, axes), err
	}
	if axes == 1 && len(list) == 2 {
		list = []any{list}
	}
	if len(list) != axes {
		return nil, nil, wrong
	}
	for _, one := range list {
		pair, ok := one.([]any)
		if !ok {
			pair = []any{one, one}
		}
		if len(pair) != 2 {
			return nil, nil, wrong
		}
		a, isA := pair[0].(float64)
		z, isZ := pair[1].(float64)
		if !isA || !isZ || a < 0 || z < 0 {
			return nil, nil, wrong
		}
		before, after = append(before, int(a)), append(after, int(z))
	}
	return before, after, nil
}

func edgeShapes(setting string, sign int) func(*Layer, [][]int) ([][]int, error) {
	return func(l *Layer, in [][]int) ([][]int, error) {
		axes := axesOf(l.Class)
		s, err := spatialOf(l, in[0], axes)
		if err != nil {
			return nil, err
		}
		before, after, err := edges(l, setting, axes)
		if err != nil {
			return nil, err
		}
		sizes := slices.Clone(s.sizes)
		for i, n := range sizes {
			if n >= 0 {
				sizes[i] = n + sign*(before[i]+after[i])
			}
		}
		return [][]int{s.with(sizes, s.channels)}, nil
	}
}

func edgeNodes(setting, layer string) func(*builder, use, []value) (value, error) {
	return func(b *builder, u use, in []value) (value, error) {
		axes := axesOf(u.Class)
		s, err1 := spatialOf(u.Layer, in[0].shape, axes)
		before, after, err2 := edges(u.Layer, setting, axes)
		if err := first(err1, err2); err != nil {
			return value{}, err
		}
		v, err := b.spatially(s, in[0])
		v.node = b.add(u, "", map[string]any{layer: map[string]any{"before": before, "after": after}}, v.node)
		return v, err
	}
}

func upsampleShapes(l *Layer, in [][]int) ([][]int, error) {
	axes := axesOf(l.Class)
	s, err := spatialOf(l, in[0], axes)
	if err != nil {
		return nil, err
	}
	scale, err := each(l, "size", axes, 2)
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(s.sizes)
	for i, n := range sizes {
		if n > 0 {
			sizes[i] = n * scale[i]
		}
	}
	return [][]int{s.with(sizes, s.channels)}, nil
}

func upsampleNodes(b *builder, u use, in []value) (value, error) {
	if kind, _ := u.Text("interpolation", "nearest"); kind != "nearest" {
		return value{}, unsupported("interpolation %s", kind)
	}
	axes := axesOf(u.Class)
	s, err1 := spatialOf(u.Layer, in[0].shape, axes)
	scale, err2 := each(u.Layer, "size", axes, 2)
	if err := first(err1, err2); err != nil {
		return value{}, err
	}
	v, err := b.spatially(s, in[0])
	v.node = b.add(u, "", map[string]any{"upsample": map[string]any{"scale": scale}}, v.node)
	return v, err
}
