package keras

import (
	"fmt"
	"slices"
	"strings"
)

// Comparisons, whose results are bools, and choices. NotEqual of a tensor and a number may be the mask of a Masking or an Embedding, which Keras 3
// writes among the operations; elements makes it the bools that it is else.
var (
	_ = register(class{several: true, order: mergeOrder, shapes: elementwiseShapes, outputs: func(b *builder, l *settings, in []value) []value {
		args := operandsOf(l)
		if len(args) != 2 || len(in) != 1 || !isNumber(args[1]) || len(in[0].shape) > 2 {
			return []value{elementwiseNodes(b, l, in)}
		}
		compared := b.last(in[0])
		number := l.of(&Layer{Class: l.Class, Name: l.Name, Config: map[string]any{"mask_value": args[1]}})
		mask := b.add(l, "", map[string]any{"masking": map[string]any{"mask_value": number.Float("mask_value", 0)}}, compared.node)
		return []value{{node: mask + ".1", steps: true, compared: &compared, with: args[1]}}
	}}, "ops.NotEqual")
	_ = register(class{anyType: true, order: operationOrder, shapes: func(l *settings, in [][]int) [][]int {
		_, shape := reductionAxes(l, in[0])
		return [][]int{shape}
	}, outputs: func(b *builder, l *settings, in []value) []value {
		v := in[0]
		if axes := l.Ints("axis"); v.steps && len(v.shape) == 2 && len(axes) == 1 && axes[0] == -1 && !l.Bool("keepdims", false) && strings.HasSuffix(l.Class, "Any") {
			v.compared = nil
			return []value{v} // of NotEqual, which is it already
		}
		v = b.last(b.bools(l, v))
		axes, _ := reductionAxes(l, v.shape)
		return []value{b.function(l, strings.ToLower(strings.TrimPrefix(l.Class, "ops.")), map[string]any{"dim": axes, "keepdim": l.Bool("keepdims", false)}, v)}
	}}, "ops.Any", "Any", "ops.All")
	_ = register(class{several: true, anyType: true, order: mergeOrder, shapes: mergeShapes, outputs: func(b *builder, l *settings, in []value) []value {
		if in[0].steps && takesSteps(l, in) {
			return []value{b.joinedSteps(l, in)}
		}
		all := slices.Clone(in)
		for i, v := range in {
			all[i] = b.bools(l, v)
		}
		if len(operandsOf(l)) != len(in) {
			l.refuse("operands besides tensors")
		}
		name := map[string]string{"And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "Not": "logical_not"}[strings.TrimPrefix(l.Class, "ops.Logical")]
		return []value{b.function(l, name, nil, b.alike(all)...)}
	}}, "ops.LogicalAnd", "ops.LogicalOr", "ops.LogicalXor", "ops.LogicalNot")
	_ = register(class{several: true, anyType: true, order: mergeOrder, shapes: elementwiseShapes, nodes: func(b *builder, l *settings, in []value) value {
		args := operandsOf(l)
		if len(args) != 3 || len(in) == 0 || l.failed() != nil || len(refsOf(args[0])) != 1 {
			l.refuse("%d operands; want a condition, and tensors or numbers", len(args))
			return in[0]
		}
		all := slices.Clone(in)
		all[0] = b.bools(l, in[0])
		for i, v := range in[1:] {
			all[1+i] = b.float(b.elements(l, v))
		}
		v := b.function(l, "where", nil, b.operandValues(l, all)...)
		v.dtype = ""
		return v
	}}, "ops.Where")
)

// elements returns a mask of steps as a tensor, and other values unchanged.
func (b *builder) elements(l *settings, v value) value {
	if !v.steps {
		return v
	}
	shape, from := v.shape, v.compared
	switch v.steps, v.compared = false, nil; {
	case v.node == constantMasks["ops.ZerosLike"] || v.node == constantMasks["ops.OnesLike"] || from == nil && len(shape) > 1:
		l.refuse("masks that are joined as an operand")
		return v
	case from != nil && len(from.shape) > 1:
		key := fmt.Sprintf("%s differs from %v", from.node, v.with)
		if b.emitted[key] == "" {
			b.emitted[key] = b.convert(*from, "differs", map[string]any{"function": map[string]any{"name": "ne", "settings": map[string]any{"other": v.with}}})
		}
		v.node, v.dtype = b.emitted[key], "bool"
	}
	if from != nil && len(shape) > len(from.shape) { // behind ExpandDims
		v.node = b.convert(v, "column", map[string]any{"reshape": map[string]any{"shape": shape}})
	}
	return v
}

// bools returns a value as bools: what is not 0.
func (b *builder) bools(l *settings, v value) value {
	if v = b.elements(l, v); v.dtype == "bool" {
		return v
	}
	v = b.float(v)
	v.node, v.dtype = b.convert(v, "bool", map[string]any{"function": map[string]any{"name": "ne", "settings": map[string]any{"other": 0}}}), "bool"
	return v
}
