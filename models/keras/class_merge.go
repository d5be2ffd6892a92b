package keras

import (
	"fmt"
	"slices"
)

var (
	_ = register(merge("add"), "Add")
	_ = register(merge("mul"), "Multiply")
	_ = register(merge("subtract"), "Subtract")
	_ = register(merge("average"), "Average")
	_ = register(merge("maximum"), "Maximum")
	_ = register(merge("minimum"), "Minimum")
	_ = register(class{shapes: concatShapes, nodes: concatNodes, several: true, order: concatOrder}, "Concatenate")
	_ = register(class{shapes: dotShapes}, "Dot")
)

// merge returns the class of layers that combine inputs elementwise, as a layer of package nn does.
func merge(layer string) class {
	return class{shapes: mergeShapes, nodes: merging(layer), several: true, order: mergeOrder}
}

// alike returns all values in the order of axes of the first.
func (b *builder) alike(in []value) ([]value, error) {
	list := slices.Clone(in)
	flat := slices.ContainsFunc(in, func(v value) bool { return !slices.EqualFunc(v.flat, in[0].flat, slices.Equal) })
	for i, v := range in {
		var err error
		switch {
		case flat || !in[0].first:
			if v.flat == nil || flat {
				list[i], err = b.last(v)
			}
		default:
			list[i] = b.toFirst(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func nodesOf(list []value) (names []string) {
	for _, v := range list {
		names = append(names, v.node)
	}
	return names
}

// dotShapes returns the axes of both inputs but those over which the products are added.
func dotShapes(l *Layer, in [][]int) ([][]int, error) {
	axes, err := l.Ints("axes")
	if err != nil || len(axes) == 0 || len(axes) > 2 || len(in) != 2 {
		return nil, first(err, unsupported("axes %v of %d inputs", axes, len(in)))
	}
	var shape []int
	for i, s := range in {
		at := axis(axes[min(i, len(axes)-1)], len(s)+1) - 1
		if at < 0 || at >= len(s) {
			return nil, unsupported("axes %v of %v", axes, in)
		}
		shape = append(append(shape, s[:at]...), s[at+1:]...)
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	return [][]int{shape}, nil
}

// mergeShapes returns the shape to which inputs are broadcast.
func mergeShapes(_ *Layer, in [][]int) ([][]int, error) {
	shape := slices.Clone(in[0])
	for _, other := range in[1:] {
		if len(other) != len(shape) {
			return nil, unsupported("inputs of shapes %v and %v, one of which is broadcast", in[0], other)
		}
		for i, n := range other {
			switch {
			case shape[i] == 1:
				shape[i] = n
			case n != 1 && n != shape[i]:
				return nil, unsupported("inputs of shapes %v and %v", in[0], other)
			}
		}
	}
	return [][]int{shape}, nil
}

// merging adds a node that combines inputs of one shape, or of one to which they are
// broadcast.
func merging(layer string) func(*builder, use, []value) (value, error) {
	return func(b *builder, u use, in []value) (value, error) {
		list := make([][]int, len(in))
		for i, v := range in {
			list[i] = v.shape
		}
		shapes, err := mergeShapes(u.Layer, list)
		if err != nil {
			return value{}, err
		}
		in = slices.Clone(in)
		for i, v := range in {
			if in[i], err = b.broadcast(v, shapes[0]); err != nil {
				return value{}, err
			}
		}
		if in, err = b.alike(in); err != nil {
			return value{}, err
		}
		v := in[0]
		v.node = b.add(u, "", layer, nodesOf(in)...)
		return v, nil
	}
}

// broadcast returns v with each of its spatial axes of one element repeated to that of
// shape.
func (b *builder) broadcast(v value, shape []int) (value, error) {
	n := len(shape)
	if slices.Equal(v.shape, shape) {
		return v, nil
	}
	scale := make([]int, max(0, n-1))
	for i := range scale {
		if scale[i] = 1; v.shape[i] != shape[i] {
			scale[i] = shape[i]
		}
	}
	if n < 2 || n > 4 || v.shape[n-1] != shape[n-1] || slices.Min(scale) < 1 {
		return v, unsupported("inputs of shapes %v and %v, one of which is broadcast", v.shape, shape)
	}
	v = b.toFirst(v)
	v.node = b.convert(v, "repeated", map[string]any{"upsample": map[string]any{"scale": scale}})
	v.shape = slices.Clone(shape)
	return v, nil
}

// concatAxis returns the axis that a Concatenate joins, from 0 without the batch.
func concatAxis(l *Layer, shape []int) (int, error) {
	setting, err := l.Int("axis", -1)
	at := axis(setting, len(shape)+1) - 1
	if err == nil && (at < 0 || at >= len(shape)) {
		err = unsupported("axis %d of %v", setting, shape)
	}
	return at, err
}

func concatShapes(l *Layer, in [][]int) ([][]int, error) {
	at, err := concatAxis(l, in[0])
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(in[0])
	for _, s := range in[1:] {
		switch {
		case len(s) != len(shape):
			return nil, fmt.Errorf("inputs of shapes %v and %v: %w", shape, s, ErrConfig)
		case s[at] < 0 || shape[at] < 0:
			shape[at] = -1
		default:
			shape[at] += s[at]
		}
	}
	return [][]int{shape}, nil
}

func concatNodes(b *builder, u use, in []value) (value, error) {
	at, err := concatAxis(u.Layer, in[0].shape)
	if err != nil {
		return value{}, err
	}
	if len(in[0].shape) == 1 {
		return b.concatFlat(u, in), nil
	}
	if in, err = b.alike(in); err != nil {
		return value{}, err
	}
	v := in[0]
	nnAxis := at + 1
	if v.first {
		nnAxis = (at+1)%len(v.shape) + 1
	}
	v.node = b.add(u, "", map[string]any{"concat": map[string]any{"axis": nnAxis}}, nodesOf(in)...)
	return v, nil
}

// concatFlat joins features, some of which may be flattened images.
func (b *builder) concatFlat(u use, in []value) value {
	v := value{node: b.add(u, "", map[string]any{"concat": map[string]any{"axis": 1}}, nodesOf(in)...)}
	if !slices.ContainsFunc(in, func(v value) bool { return v.flat != nil }) {
		return v
	}
	v.parts = in
	for _, one := range in {
		if one.flat != nil {
			v.flat = append(v.flat, one.flat...)
		} else {
			v.flat = append(v.flat, one.shape)
		}
	}
	return v
}
