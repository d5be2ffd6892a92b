package keras

import "slices"

var (
	_ = register(merge("add", "Add"), "Add")
	_ = register(merge("mul", "Multiply"), "Multiply")
	_ = register(merge("subtract", "Subtract"), "Subtract")
	_ = register(merge("average", "Average"), "Average")
	_ = register(merge("maximum", "Maximum"), "Maximum")
	_ = register(merge("minimum", "Minimum"), "Minimum")
	_ = register(class{copies: true, shapes: concatShapes, nodes: concatNodes, several: true, order: concatOrder, reverse: map[string]reversal{
		"concat": reversed("Concatenate", func(l *settings, v tensor) map[string]any {
			return map[string]any{"axis": v.kerasAxis(l.Int("axis", 1))}
		}),
	}}, "Concatenate")
)

// merge returns the class of layers that combine inputs elementwise, as a layer of package nn does: of one shape, or
// of one to which they are broadcast.
func merge(layer, name string) class {
	return class{shapes: mergeShapes, several: true, order: mergeOrder, reverse: map[string]reversal{
		layer: reversed(name, func(*settings, tensor) map[string]any { return nil }),
	}, nodes: func(b *builder, l *settings, in []value) value {
		if slices.ContainsFunc(in, func(v value) bool { return v.steps }) {
			l.refuse("a mask as an operand")
		}
		all := b.alike(in)
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

// mergeShapes returns the shape to which inputs are broadcast.
func mergeShapes(l *settings, in [][]int) [][]int {
	shape := slices.Clone(in[0])
	for _, other := range in[1:] {
		if len(other) != len(shape) {
			l.refuse("inputs of shapes %v and %v, of different numbers of axes", in[0], other)
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
	if _, operation := l.Config[operands]; operation && in[0].steps && at == len(in[0].shape)-1 {
		return b.joinedSteps(l, in) // of features
	}
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
