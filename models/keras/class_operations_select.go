package keras

import (
	"fmt"
	"slices"
	"strings"
)

// Operations that find or take elements along an axis, or add some.
var (
	_ = register(class{order: operationOrder, shapes: func(l *settings, in [][]int) [][]int {
		_, shape := reductionAxes(l, in[0])
		return [][]int{shape}
	}, nodes: func(b *builder, l *settings, in []value) value {
		v := b.last(in[0])
		axes, _ := reductionAxes(l, v.shape)
		if len(axes) != 1 {
			l.refuse("axes %v", axes)
			return v
		}
		v = b.function(l, strings.ToLower(strings.TrimPrefix(l.Class, "ops.")), map[string]any{"dim": axes, "keepdim": l.Bool("keepdims", false)}, v)
		v.dtype = "int64"
		return v
	}}, "ops.Argmax", "ops.Argmin")
	_ = register(class{order: operationOrder, nodes: func(b *builder, l *settings, in []value) value {
		v := b.last(in[0])
		return b.function(l, strings.ToLower(strings.TrimPrefix(l.Class, "ops.")), map[string]any{"dim": operationAxis(l, v.shape)}, v)
	}}, "ops.Cumsum", "ops.Cumprod")
	_ = register(class{order: operationOrder, shapes: func(l *settings, in [][]int) [][]int {
		return [][]int{append(slices.Clone(in[0]), l.Int("num_classes", 0))}
	}, nodes: oneHotNodes}, "ops.OneHot")
	_ = register(class{order: operationOrder, copies: true, shapes: func(l *settings, in [][]int) [][]int {
		_, shape := takenFrom(l, in[0])
		return [][]int{shape}
	}, nodes: func(b *builder, l *settings, in []value) value {
		v := b.last(in[0])
		layers, _ := takenFrom(l, v.shape)
		if len(layers) < 2 {
			return b.cut(l, "", v, layers)
		}
		var parts []string
		for i, layer := range layers {
			parts = append(parts, b.add(l, fmt.Sprintf("part%d", i+1), layer, v.node))
		}
		v.node = b.add(l, "", map[string]any{"concat": map[string]any{"axis": operationAxis(l, v.shape)}}, parts...)
		return v
	}}, "ops.Take")
	_ = register(class{order: operationOrder, shapes: func(l *settings, in [][]int) [][]int {
		shape := slices.Clone(in[0])
		for i, n := range paddingOf(l, in[0]) {
			if at := len(shape) - 1 - i/2; shape[at] >= 0 {
				shape[at] += n
			}
		}
		return [][]int{shape}
	}, nodes: func(b *builder, l *settings, in []value) value {
		v := b.last(in[0])
		v.outer = false
		return b.function(l, "pad", map[string]any{"pad": paddingOf(l, v.shape)}, v)
	}}, "ops.Pad")
)

// operationAxis returns the axis of an operation along one, counted with the samples.
func operationAxis(l *settings, shape []int) int {
	at := axis(l.Int("axis", 0), len(shape)+1)
	if at < 1 || at > len(shape) || l.Config["axis"] == nil {
		l.refuse("axis %v of samples of shape %v", l.Config["axis"], shape)
		return 1
	}
	return at
}

// oneHotNodes compares indices with those of the classes.
func oneHotNodes(b *builder, l *settings, in []value) value {
	v, n := b.last(in[0]), l.Int("num_classes", 0)
	column := append(slices.Clone(v.shape), 1)
	if at := axis(l.Int("axis", -1), len(column)+1); at != len(column) || n < 1 || strings.Count(fmt.Sprint(column), "-1") > 1 || len(operandsOf(l)) != 1 {
		l.refuse("%d classes along axis %v of samples of shape %v", n, l.Config["axis"], v.shape)
		return v
	}
	classes := make([]float64, n)
	for i := range classes {
		classes[i] = float64(i)
	}
	c := b.constant(l, "classes", classes, slices.Concat(slices.Repeat([]int{1}, len(v.shape)), []int{n}), v)
	v.node, v.shape = b.add(l, "column", map[string]any{"reshape": map[string]any{"shape": column}}, v.node), column
	v = b.function(l, "eq", nil, v, c)
	v.dtype = "bool"
	return v
}

// takenFrom returns the layers that take the indices of a Take along an axis, and the shape of the result.
func takenFrom(l *settings, in []int) (layers []any, shape []int) {
	args, at := operandsOf(l), operationAxis(l, in)
	if len(args) != 2 || l.failed() != nil {
		l.refuse("%d operands", len(args))
		return nil, in
	}
	numbers, form, array := arrayOf(args[1])
	c, one := number(args[1])
	if list, ok := integers(args[1]); ok && !one && !array {
		array, form = true, []int{len(list)}
		for _, i := range list {
			numbers = append(numbers, float64(i))
		}
	}
	if one {
		numbers = []float64{c}
	}
	n := in[at-1]
	for _, c := range numbers {
		i := int(c)
		if c != float64(i) || n > 0 && (i >= n || i < -n) {
			l.refuse("index %v of axis %d of samples of shape %v", c, at, in)
			return nil, in
		}
		slice := map[string]any{"start": i, "axis": at}
		if i != -1 {
			slice["stop"] = i + 1
		}
		layers = append(layers, map[string]any{"slice": slice})
	}
	shape = slices.Clone(in)
	switch {
	case one:
		return []any{map[string]any{"select": map[string]any{"index": int(c), "axis": at}}}, slices.Delete(shape, at-1, at)
	case !array || len(form) != 1 || len(layers) > 256:
		l.refuse("indices that are no list of up to 256")
		return nil, in
	}
	shape[at-1] = len(layers)
	return layers, shape
}

// paddingOf returns the sizes of a Pad as PyTorch's pad takes them: of the last axis first.
func paddingOf(l *settings, in []int) (sizes []int) {
	list, _ := l.Config["pad_width"].([]any)
	if len(list) != len(in)+1 || l.Text("mode", "constant") != "constant" || len(operandsOf(l)) != 1 {
		l.refuse("pad_width %v in mode %v; want two sizes for each axis, of zeros", l.Config["pad_width"], l.Config["mode"])
		return nil
	}
	for i, v := range list {
		pair, ok := integers(v)
		if !ok || len(pair) != 2 || slices.Min(pair) < 0 || i == 0 && slices.Max(pair) > 0 {
			l.refuse("pad_width %v", list)
			return nil
		}
		if i > 0 {
			sizes = append(pair, sizes...)
		}
	}
	return sizes
}
