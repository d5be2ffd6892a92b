package keras

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
)

// Types of values: floats, but for the integers that an Embedding takes, and the bools of comparisons.

// mixedInputs returns the types of the inputs that layers take as indices, if layers compute with some of these, too: integers stay integers,
// and floats become integers before the Embedding. It returns nil if there are none.
func (b *builder) mixedInputs() map[string]string {
	types, mixed := map[string]string{}, false
	for _, in := range b.inputs {
		if both := b.counted[in.Name] && b.computed[in.Name]; both && !in.isInteger() {
			mixed = true
		} else if b.counted[in.Name] {
			types[in.Name], mixed = "int64", mixed || both
		}
	}
	if !mixed {
		return nil
	}
	return types
}

// typed returns the inputs of a layer as floats, unless it takes others.
func (b *builder) typed(l *settings, c class, in []value) []value {
	in = slices.Clone(in)
	for i, v := range in {
		if isOperand(l) && v.steps && !takesSteps(l, in) {
			in[i] = b.elements(l, v)
		}
		if l.Class == "ops.Mean" && strings.HasPrefix(b.version, "2.") && b.areIntegers(v) {
			l.refuse("the mean of integers, which TensorFlow rounds")
		}
	}
	alike := c.copies && !slices.ContainsFunc(in, func(v value) bool { return v.dtype != in[0].dtype || (v.inputs == nil) != (in[0].inputs == nil) })
	if c.anyType || alike || len(in) == 0 {
		return in
	}
	for i, v := range in {
		in[i] = b.float(v)
	}
	return in
}

// isOperand reports whether a layer is an operation, whose inputs are operands.
func isOperand(l *settings) bool {
	_, operation := l.Config[operands]
	return operation || strings.HasPrefix(l.Class, "ops.")
}

// takesSteps reports whether an operation is among those by which Keras 3 joins masks of steps.
func takesSteps(l *settings, in []value) bool {
	switch l.Class {
	case "ops.Any", "Any", "ops.Cast", "ops.ConvertToTensor", "ops.Copy", "ops.Identity":
		return true
	case "ops.ExpandDims":
		return axis(l.Int("axis", 0), len(in[0].shape)+2) == len(in[0].shape)+1
	}
	ofElements := func(v value) bool { return !v.steps || v.compared != nil && len(v.compared.shape) > 1 }
	return slices.Contains([]string{"ops.LogicalAnd", "ops.LogicalOr", "Concatenate"}, l.Class) && !slices.ContainsFunc(in, ofElements)
}

// float returns a value with which a layer computes.
func (b *builder) float(v value) value {
	for _, name := range v.inputs {
		b.computed[name] = true
	}
	return b.cast(v, "")
}

// index returns a value as the indices of an Embedding.
func (b *builder) index(v value) value {
	for _, name := range v.inputs {
		b.counted[name] = true
	}
	if v.inputs != nil && b.types == nil {
		return v
	}
	return b.cast(v, "int64")
}

// cast returns a value in another type.
func (b *builder) cast(v value, to string) value {
	if v.dtype == to {
		v.inputs = nil
		return v
	}
	name := to
	if to == "" {
		name = "float32"
	}
	key := v.node + " as " + name // by one node for all layers
	if b.emitted[key] == "" {
		b.emitted[key] = b.convert(v, name, map[string]any{"cast": map[string]any{"dtype": name}})
	}
	v.node, v.dtype, v.inputs = b.emitted[key], to, nil
	return v
}

// areIntegers reports whether a value has integers in Keras: they may be floats here.
func (b *builder) areIntegers(v value) bool {
	for _, in := range b.inputs {
		if slices.Contains(v.inputs, in.Name) && !in.isInteger() {
			return false
		}
	}
	return v.inputs != nil || v.dtype == "int64"
}

// isInteger reports whether samples are integers in Keras.
func (in Input) isInteger() bool {
	t, err := dtype.Parse(in.DType)
	return err == nil && t.IsInt()
}

// inputsOfValues returns the inputs of the model whose elements values have.
func inputsOfValues(in []value) (names []string) {
	for _, v := range in {
		for _, name := range v.inputs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// castNodes adds a Cast to floats, which are all float32 here, to integers or to bools.
func castNodes(b *builder, l *settings, in []value) value {
	v := in[0]
	v.mask = ""
	switch to := l.Text("dtype", ""); {
	case v.steps && to == "bool":
		return v
	case v.steps:
		return castNodes(b, l, []value{b.elements(l, v)})
	case to == "float32":
		return b.float(v)
	case to == "bool":
		return b.bools(l, v)
	case strings.HasPrefix(to, "int") || strings.HasPrefix(to, "uint"):
		if b.areIntegers(v) {
			return v
		}
		return b.cast(b.float(v), "int64")
	default:
		l.refuse("dtype %v; h5dnn computes in float32", l.Config["dtype"])
	}
	return v
}
