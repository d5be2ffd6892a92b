package keras

import (
	"fmt"
	"slices"
)

// Index expressions, and Split.
var (
	_ = register(class{copies: true, order: operationOrder, outputs: getItemOutputs, shapes: func(l *settings, in [][]int) [][]int {
		_, shape := cutsOf(l, in[0])
		return [][]int{shape}
	}, reverse: map[string]reversal{
		"select": func(r *reverser, l *settings, in []tensor) tensor {
			out := r.getItem(l, r.ordered(in[0], false), l.Int("index", 0))
			out.rank--
			return out
		},
		"slice": func(r *reverser, l *settings, in []tensor) tensor {
			return r.getItem(l, in[0], map[string]any{"start": l.Config["start"], "stop": l.Config["stop"], "step": l.Config["step"]})
		},
	}}, "ops.GetItem")
	_ = register(class{copies: true, order: operationOrder, outputs: splitOutputs, shapes: splitShapes}, "ops.Split")
)

// getItem adds an index expression with an index or a range of one axis.
func (r *reverser) getItem(l *settings, v tensor, index any) tensor {
	at := v.kerasAxis(l.Int("axis", 1))
	if at < 1 || at > v.rank {
		l.refuse("axis %d of %d", l.Int("axis", 1), v.rank)
		return v
	}
	spec := slices.Repeat([]any{map[string]any{"start": nil, "stop": nil, "step": nil}}, at+1)
	spec[at] = index
	return r.layer("SlicingOpLambda", l.Name, map[string]any{"function": getItem, "trainable": true, "dtype": "float32", callArguments: map[string]any{"slice_spec": spec}}, v)
}

// cutsOf returns the layers for an index expression, x[:, 1:, -1], and the shape of the result.
func cutsOf(l *settings, in []int) (cuts []any, shape []int) {
	args := operandsOf(l)
	if len(args) != 2 {
		l.refuse("%d operands", len(args))
		return nil, in
	}
	key, ok := args[1].([]any)
	if !ok {
		key = []any{args[1]}
	}
	var selects []any
	added, at, ellipses := false, 0, 0
	keep := func(end int) { // the axes before end
		for ; at < end; at++ {
			if at > 0 {
				shape = append(shape, in[at-1])
			}
		}
	}
	for i, one := range key {
		o, _ := one.(map[string]any)
		rest := 0
		for _, other := range key[i+1:] {
			if other != nil {
				rest++
			}
		}
		switch class := textIn(o, "class_name"); {
		case class == "__ellipsis__":
			if ellipses++; ellipses > 1 {
				l.refuse("two ellipses")
				return nil, in
			}
			keep(len(in) + 1 - rest)
		case one == nil && at > 0:
			shape, added = append(shape, 1), true
		case at > len(in) || one == nil:
			l.refuse("%d indices of samples of shape %v", len(key), in)
			return nil, in
		case class == "__slice__":
			layer, n := sliceOf(l, configIn(o), at, in)
			if layer != nil {
				cuts = append(cuts, layer)
			}
			if at++; at > 1 {
				shape = append(shape, n)
			}
		default:
			index, ok := integer(one)
			if n := 1; at > 0 {
				n = in[at-1]
				if ok = ok && (n < 0 || index < n && index >= -n); ok {
					selects = append([]any{map[string]any{"select": map[string]any{"index": index, "axis": at}}}, selects...)
				}
			}
			if !ok || at == 0 {
				l.refuse("the index %.40v of axis %d", one, at)
				return nil, in
			}
			at++
		}
	}
	keep(len(in) + 1)
	if cuts = append(cuts, selects...); added {
		if unknown := slices.Index(shape, -1); unknown >= 0 && slices.Contains(shape[unknown+1:], -1) {
			l.refuse("a new axis of samples of shape %v", in)
		}
		cuts = append(cuts, map[string]any{"reshape": map[string]any{"shape": shape}})
	}
	return cuts, slices.Concat([]int{}, shape)
}

// sliceOf returns the layer for a slice of an axis, counted with the samples, and the size of the result.
func sliceOf(l *settings, config map[string]any, at int, in []int) (layer any, n int) {
	s := l.of(&Layer{Class: l.Class, Name: l.Name, Config: config})
	start, stop, step := s.Int("start", 0), s.Int("stop", 0), s.Int("step", 1)
	whole := config["start"] == nil && config["stop"] == nil
	switch {
	case at == 0 && whole && step == 1:
		return nil, 0
	case at == 0:
		l.refuse("a slice of the samples")
		return nil, 0
	}
	n = in[at-1]
	switch {
	case whole && step == 1:
		return nil, n
	case whole && step == -1:
		return map[string]any{"function": map[string]any{"name": "flip", "settings": map[string]any{"dims": []int{at}}}}, n
	case step < 1:
		l.refuse("a slice with step %d", step)
		return nil, n
	}
	settings := map[string]any{"start": start, "axis": at}
	if config["stop"] != nil {
		settings["stop"] = stop
	}
	if step != 1 {
		settings["step"] = step
	}
	if n >= 0 {
		within := func(i int) int { return min(max(axis(i, n), 0), n) }
		first, last := within(start), n
		if config["stop"] != nil {
			last = within(stop)
		}
		if n = (last - first + step - 1) / step; last <= first {
			l.refuse("a slice without elements")
		}
	}
	return map[string]any{"slice": settings}, n
}

func getItemOutputs(b *builder, l *settings, in []value) []value {
	v := b.last(in[0])
	if len(in) != 1 || v.steps {
		l.refuse("indices that are tensors, or of a mask")
		return in
	}
	cuts, _ := cutsOf(l, v.shape)
	return []value{b.cut(l, "", v, cuts)}
}

// cut adds layers one after another.
func (b *builder) cut(l *settings, part string, v value, layers []any) value {
	v = value{node: v.node}
	for i, layer := range layers {
		name := part
		if i < len(layers)-1 {
			name = fmt.Sprintf("%s%d", part, i+1)
		}
		v.node = b.add(l, name, layer, v.node)
	}
	return v
}

// sectionsOf returns the axis of a Split, and the indices at which the parts begin and end.
func sectionsOf(l *settings, in []int) (at int, ends []int) {
	at = axis(l.Int("axis", 0), len(in)+1)
	if at < 1 || at > len(in) || in[at-1] < 1 {
		l.refuse("axis %v of samples of shape %v", l.Config["axis"], in)
		return 1, nil
	}
	n, parts := in[at-1], l.Ints("indices_or_sections")
	if _, list := l.Config["indices_or_sections"].([]any); !list && len(parts) == 1 && parts[0] > 0 && n%parts[0] == 0 {
		for i := range parts[0] + 1 {
			ends = append(ends, i*n/parts[0])
		}
		return at, ends
	}
	ends = append(append([]int{0}, parts...), n)
	for i := range ends[1:] {
		if ends[i] < 0 || ends[i] >= ends[i+1] {
			l.refuse("parts at %v of %d", parts, n)
		}
	}
	return at, ends
}

func splitShapes(l *settings, in [][]int) (shapes [][]int) {
	at, ends := sectionsOf(l, in[0])
	for i := 1; i < len(ends); i++ {
		shape := slices.Clone(in[0])
		shape[at-1] = ends[i] - ends[i-1]
		shapes = append(shapes, shape)
	}
	return shapes
}

func splitOutputs(b *builder, l *settings, in []value) (outputs []value) {
	v := b.last(in[0])
	at, ends := sectionsOf(l, v.shape)
	if len(operandsOf(l)) != 1 || len(in) != 1 || v.steps {
		l.refuse("operands besides a tensor")
	}
	for i := 1; i < len(ends); i++ {
		slice := map[string]any{"slice": map[string]any{"start": ends[i-1], "stop": ends[i], "axis": at}}
		outputs = append(outputs, b.cut(l, fmt.Sprintf("part%d", i), v, []any{slice}))
	}
	return outputs
}
