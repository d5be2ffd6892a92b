package keras

import (
	"fmt"
	"slices"
)

// Operations that are Reshape or Permute.
var (
	_ = register(asLayer(reshapeAs), "ops.Reshape", "ops.ExpandDims", "ops.Squeeze")
	_ = register(asLayer(permuteAs), "ops.Transpose", "ops.Swapaxes", "ops.Moveaxis")
)

// asLayer is the class of operations that are other layers, which f returns for inputs of those shapes: "" for none, and Select for the element
// of an axis of one.
func asLayer(f func(l *settings, in []int) (class string, config map[string]any)) class {
	other := func(l *settings, in []int) *settings {
		name, config := f(l, in)
		return l.of(&Layer{Class: name, Name: l.Name, Config: config, InputShapes: [][]int{in}, OutputShapes: l.OutputShapes})
	}
	return class{
		copies: true,
		shapes: func(l *settings, in [][]int) [][]int {
			o := other(l, in[0])
			if l.failed() != nil {
				return nil
			}
			switch o.Class {
			case "": // as it is
				return in
			case "Select":
				return [][]int{{}}
			}
			return classes[o.Class].shapes(o, in)
		},
		nodes: func(b *builder, l *settings, in []value) value {
			if in[0].steps {
				return in[0]
			}
			o := other(l, in[0].shape)
			if len(operandsOf(l)) != 1 || l.failed() != nil {
				l.refuse("operands besides a tensor")
				return in[0]
			}
			v := in[0]
			v.mask = ""
			switch {
			case o.Class == "":
				return v
			case o.Class == "Select":
				v = b.last(v)
				v.node = b.add(l, "", map[string]any{"select": map[string]any{"index": 0, "axis": 1}}, v.node)
				return v
			}
			return classes[o.Class].nodes(b, o, []value{v})
		},
		order: func(t *tracer, l *settings, in []featureLayout) featureLayout {
			if len(l.InputShapes) == 0 {
				return operationOrder(t, l, in)
			}
			o := other(l, l.InputShapes[0])
			if l.failed() != nil || classes[o.Class].order == nil {
				return operationOrder(t, l, in)
			}
			return classes[o.Class].order(t, o, in)
		},
	}
}

// reshapeAs returns the Reshape that an operation is.
func reshapeAs(l *settings, in []int) (class string, config map[string]any) {
	shape := slices.Clone(in)
	switch l.Class {
	case "ops.Reshape":
		list, _ := l.Config["newshape"].([]any)
		if len(list) < 2 || list[0] != nil && fmt.Sprint(list[0]) != "-1" {
			l.refuse("a shape %.60v; want the samples as the first axis, -1", l.Config["newshape"])
			return "", nil
		}
		rest, ok := integers(list[1:])
		if open := slices.Contains(rest, -1); !ok || list[0] != nil && open || !open && product(rest) != product(in) || product(in) < 1 {
			l.refuse("a shape %v of samples of shape %v", list, in)
		}
		shape = rest
	case "ops.ExpandDims":
		at := axis(l.Int("axis", 0), len(in)+2)
		if at < 1 || at > len(in)+1 {
			l.refuse("axis %v of samples of shape %v", l.Config["axis"], in)
			return "", nil
		}
		shape = slices.Insert(shape, at-1, 1)
	case "ops.Squeeze":
		axes := l.Ints("axis")
		shape = []int{}
		for i, n := range in {
			named := slices.Contains(axes, i+1) || slices.Contains(axes, i-len(in))
			if named && n != 1 || l.Config["axis"] == nil && n < 0 {
				l.refuse("axis %v of samples of shape %v", axes, in)
			}
			if !named && (l.Config["axis"] != nil || n != 1) {
				shape = append(shape, n)
			}
		}
		if slices.Contains(axes, 0) {
			l.refuse("axis 0, the samples")
		}
	}
	switch unknown := slices.Index(shape, -1); {
	case slices.Equal(shape, in):
		return "", nil
	case len(shape) == 0 && len(in) == 1:
		return "Select", nil
	case len(shape) == 0 || unknown >= 0 && slices.Contains(shape[unknown+1:], -1):
		l.refuse("samples of shape %v as %v", in, shape)
	}
	return "Reshape", map[string]any{"target_shape": shape}
}

// permuteAs returns the Permute that an operation is.
func permuteAs(l *settings, in []int) (class string, config map[string]any) {
	axes := make([]int, len(in)+1)
	for i := range axes {
		axes[i] = i
	}
	switch l.Class {
	case "ops.Transpose":
		axes = slices.Clone(l.Ints("axes"))
		for i := range axes {
			axes[i] = axis(axes[i], len(in)+1)
		}
	case "ops.Swapaxes":
		a, b := axis(l.Int("axis1", 0), len(axes)), axis(l.Int("axis2", 0), len(axes))
		if min(a, b) < 0 || max(a, b) >= len(axes) {
			l.refuse("axes %d and %d of samples of shape %v", a, b, in)
			return "", nil
		}
		axes[a], axes[b] = axes[b], axes[a]
	case "ops.Moveaxis":
		from, to := l.Ints("source"), l.Ints("destination")
		if len(from) != 1 || len(to) != 1 || axis(from[0], len(axes)) < 0 || axis(to[0], len(axes)) < 0 || max(from[0], to[0]) >= len(axes) {
			l.refuse("axes %v to %v of samples of shape %v", from, to, in)
			return "", nil
		}
		a := axis(from[0], len(axes))
		axes = slices.Insert(slices.Delete(axes, a, a+1), axis(to[0], len(axes)), a)
	}
	if len(axes) != len(in)+1 || len(axes) < 2 || axes[0] != 0 {
		l.refuse("axes %v of samples of shape %v; want the samples as the first", l.Config["axes"], in)
		return "", nil
	}
	if slices.IsSorted(axes) {
		return "", nil
	}
	return "Permute", map[string]any{"dims": axes[1:]}
}
