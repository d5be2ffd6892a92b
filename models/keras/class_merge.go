package keras

import "slices"

var (
	_ = register(merge("add", "Add"), "Add")
	_ = register(merge("mul", "Multiply"), "Multiply")
	_ = register(merge("subtract", "Subtract"), "Subtract")
	_ = register(merge("average", "Average"), "Average")
	_ = register(merge("maximum", "Maximum"), "Maximum")
	_ = register(merge("minimum", "Minimum"), "Minimum")
	_ = register(class{shapes: concatShapes, nodes: concatNodes, several: true, order: concatOrder, reverse: map[string]reversal{
		"concat": reversed("Concatenate", func(l *settings, v tensor) map[string]any {
			return map[string]any{"axis": v.kerasAxis(l.Int("axis", 1))}
		}),
	}}, "Concatenate")
	_ = register(class{shapes: dotShapes}, "Dot")
)

// merge returns the class of layers that combine inputs elementwise, as a layer of package nn does: of one shape, or
// of one to which they are broadcast.
func merge(layer, name string) class {
	return class{shapes: mergeShapes, several: true, order: mergeOrder, reverse: map[string]reversal{
		layer: reversed(name, func(*settings, tensor) map[string]any { return nil }),
	}, nodes: func(b *builder, l *settings, in []value) value {
		shape := mergeShapes(l, shapesOfValues(in))[0]
		all := make([]value, len(in))
		for i, v := range in {
			all[i] = b.broadcast(l, v, shape)
		}
		all = b.alike(all)
		v := all[0]
		v.node = b.add(l, "", layer, nodesOf(all)...)
		return v
	}}
}

// alike returns all values in the order of axes of the first.
func (b *builder) alike(in []value) []value {
	list := slices.Clone(in)
	flat := slices.ContainsFunc(in, func(v value) bool { return !slices.EqualFunc(v.flat, in[0].flat, slices.Equal) })
	for i, v := range in {
		switch {
		case flat || !in[0].first && v.flat == nil:
			list[i] = b.last(v)
		case in[0].first:
			list[i] = b.toFirst(v)
		}
	}
	return list
}

func nodesOf(list []value) (names []string) {
	for _, v := range list {
		names = append(names, v.node)
	}
	return names
}

func shapesOfValues(list []value) (shapes [][]int) {
	for _, v := range list {
		shapes = append(shapes, v.shape)
	}
	return shapes
}

// dotShapes returns the axes of both inputs but those over which the products are added.
func dotShapes(l *settings, in [][]int) [][]int {
	axes := l.Ints("axes")
	if len(axes) == 0 || len(axes) > 2 || len(in) != 2 {
		l.refuse("axes %v of %d inputs", axes, len(in))
		return nil
	}
	var shape []int
	for i, s := range in {
		at := axis(axes[min(i, len(axes)-1)], len(s)+1) - 1
		if at < 0 || at >= len(s) {
			l.refuse("axes %v of %v", axes, in)
			return nil
		}
		shape = append(append(shape, s[:at]...), s[at+1:]...)
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	return [][]int{shape}
}

// mergeShapes returns the shape to which inputs are broadcast.
func mergeShapes(l *settings, in [][]int) [][]int {
	shape := slices.Clone(in[0])
	for _, other := range in[1:] {
		if len(other) != len(shape) {
			l.refuse("inputs of shapes %v and %v, one of which is broadcast", in[0], other)
			break
		}
		for i, n := range other {
			switch {
			case shape[i] == 1:
				shape[i] = n
			case n != 1 && n != shape[i]:
				l.refuse("inputs of shapes %v and %v", in[0], other)
			}
		}
	}
	return [][]int{shape}
}

// broadcast returns v with each of its spatial axes of one element repeated to that of
// shape.
func (b *builder) broadcast(l *settings, v value, shape []int) value {
	n := len(shape)
	if slices.Equal(v.shape, shape) {
		return v
	}
	scale := make([]int, max(0, n-1))
	for i := range scale {
		if scale[i] = 1; v.shape[i] != shape[i] {
			scale[i] = shape[i]
		}
	}
	if n < 2 || n > 4 || v.shape[n-1] != shape[n-1] || slices.Min(scale) < 1 {
		l.refuse("inputs of shapes %v and %v, one of which is broadcast", v.shape, shape)
		return v
	}
	v = b.toFirst(v)
	v.node = b.convert(v, "repeated", map[string]any{"upsample": map[string]any{"scale": scale}})
	v.shape = slices.Clone(shape)
	return v
}

// concatAxis returns the axis that a Concatenate joins, from 0 without the batch.
func concatAxis(l *settings, shape []int) int {
	setting := l.Int("axis", -1)
	at := axis(setting, len(shape)+1) - 1
	if at < 0 || at >= len(shape) {
		l.refuse("axis %d of %v", setting, shape)
	}
	return at
}

func concatShapes(l *settings, in [][]int) [][]int {
	at, shape := concatAxis(l, in[0]), slices.Clone(in[0])
	if l.failed() != nil {
		return nil
	}
	for _, s := range in[1:] {
		switch {
		case len(s) != len(shape):
			l.invalid("inputs of shapes %v and %v", shape, s)
			return nil
		case s[at] < 0 || shape[at] < 0:
			shape[at] = -1
		default:
			shape[at] += s[at]
		}
	}
	return [][]int{shape}
}

func concatNodes(b *builder, l *settings, in []value) value {
	at := concatAxis(l, in[0].shape)
	if len(in[0].shape) == 1 {
		return b.concatFlat(l, in)
	}
	in = b.alike(in)
	v := in[0]
	nnAxis := at + 1
	if v.first {
		nnAxis = (at+1)%len(v.shape) + 1
	}
	v.node = b.add(l, "", map[string]any{"concat": map[string]any{"axis": nnAxis}}, nodesOf(in)...)
	return v
}

// concatFlat joins features, some of which may be flattened images.
func (b *builder) concatFlat(l *settings, in []value) value {
	v := value{node: b.add(l, "", map[string]any{"concat": map[string]any{"axis": 1}}, nodesOf(in)...)}
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
