package keras

import (
	"maps"
	"slices"
)

// Operations of package nn, in its layer function, become functions of TensorFlow in layers TFOpLambda, as Keras 2 has them and Keras 3 rewrites them.

func init() {
	reversals["function"] = (*reverser).function
	reversals["constant"] = func(_ *reverser, l *settings, in []tensor) tensor {
		numbers, _ := l.Config["values"].([]any)
		return tensor{rank: len(l.Ints("shape")), first: in[0].first, constant: &constantArray{numbers, l.Ints("shape")}}
	}
}

// A constantArray has the elements of a constant, in row-major order.
type constantArray struct {
	numbers []any
	shape   []int
}

// nested returns the lists in lists that Keras has for a constant, whose channels are last if they are first in package nn.
func (a constantArray) nested(first bool) any {
	strides, stride := make([]int, len(a.shape)), 1
	for axis := len(a.shape) - 1; axis >= 0; axis-- {
		strides[axis], stride = stride, stride*a.shape[axis]
	}
	order := rangeOf(len(a.shape))
	if first && len(order) > 0 {
		order = append(order[1:], 0)
	}
	var list func(axes []int, at int) any
	list = func(axes []int, at int) any {
		if len(axes) == 0 {
			return a.numbers[at]
		}
		all := make([]any, a.shape[axes[0]])
		for i := range all {
			all[i] = list(axes[1:], at+i*strides[axes[0]])
		}
		return all
	}
	return list(order, 0)
}

// rangeOf returns the numbers from 0 below n.
func rangeOf(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// functionOf has the functions of TensorFlow by the operations of package nn that they compute.
var functionOf = func() map[string]string {
	all := map[string]string{"matmul": "linalg.matmul", "neg": "math.negative", "exp": "math.exp", "where": "where"}
	for _, table := range []map[string]string{elementwise, reductions} {
		for _, class := range slices.Sorted(maps.Keys(table)) {
			if function := functions[class]; function != "" {
				all[table[class]] = function // TrueDivide comes after Divide
			}
		}
	}
	return all
}()

// lambda adds a function of TensorFlow of a tensor and arguments by name.
func (r *reverser) lambda(l *settings, function string, arguments map[string]any, v tensor) tensor {
	return r.layer("TFOpLambda", l.Name, map[string]any{"function": function, "trainable": true, "dtype": "float32", callArguments: arguments}, v)
}

// argument returns a further operand of a function.
func (v tensor) argument() any {
	if v.constant != nil {
		return v.constant.nested(v.first)
	}
	return v.ref.plain()
}

// function adds the function of TensorFlow for the layer function.
func (r *reverser) function(l *settings, in []tensor) tensor {
	name := l.Text("name", "")
	given, _ := l.Config["settings"].(map[string]any)
	s := l.of(&Layer{Class: l.Class, Name: l.Name, Config: given})
	function := functionOf[name]
	switch {
	case name == "clamp" && len(in) == 1:
		return r.clamp(l, s, in[0])
	case function == "":
		l.refuse("name %s", name)
		return in[0]
	case slices.Contains(slices.Collect(maps.Values(reductions)), name):
		return r.reduction(l, s, name, in)
	case name == "matmul":
		for i := range in {
			in[i] = r.ordered(in[i], false)
		}
	}
	operands, arguments := operations[function].operands, map[string]any{}
	if in[0].constant != nil && len(in) == 2 { // TFOpLambda has the tensor first
		switch name {
		case "add", "mul", "maximum", "minimum", "eq", "gt", "ge", "lt", "le":
			function, in = functionOf[otherWay(name)], []tensor{in[1], in[0]}
		case "sub":
			function, in = functionOf["add"], []tensor{r.layer("Rescaling", "", map[string]any{"scale": -1.0, "offset": 0.0}, in[1]), in[0]}
		}
	}
	for _, setting := range []string{"other", "exponent"} {
		if number, ok := s.Config[setting]; ok && len(in) == 1 && len(operands) == 1 {
			arguments[operands[0]] = number
		}
	}
	if len(in)+len(arguments) != len(operands)+1 || len(given) != len(arguments) || in[0].constant != nil {
		l.refuse("name %s with %d inputs and settings %v", name, len(in), given)
		return in[0]
	}
	for i, v := range in[1:] {
		arguments[operands[i]] = v.argument()
	}
	return r.lambda(l, function, arguments, in[0])
}

// otherWay returns the operation that computes the same of its operands in the other order.
func otherWay(name string) string {
	if other := exchanged[name]; other != "" {
		return other
	}
	return name
}

func (r *reverser) clamp(l, s *settings, v tensor) tensor {
	low, high := s.Config["min"], s.Config["max"]
	switch {
	case low != nil && high != nil:
		return r.lambda(l, "clip_by_value", map[string]any{"clip_value_min": low, "clip_value_max": high}, v)
	case low != nil:
		return r.lambda(l, functionOf["maximum"], map[string]any{"y": low}, v)
	}
	return r.lambda(l, functionOf["minimum"], map[string]any{"y": high}, v)
}

// reduction reduces axes; means and maxima of everything but the channels are pools.
func (r *reverser) reduction(l, s *settings, name string, in []tensor) tensor {
	v, keep := in[0], s.Bool("keepdim", false)
	var axes []int
	for _, axis := range s.Ints("dim") {
		if axis = v.kerasAxis(axis); axis > 0 && axis <= v.rank {
			axes = append(axes, axis)
		}
	}
	slices.Sort(axes)
	switch {
	case len(in) != 1 || len(axes) == 0 || len(slices.Compact(axes)) != len(s.Ints("dim")):
		l.refuse("name %s along %v of %d axes", name, s.Config["dim"], v.rank+1)
		return v
	case (name == "var" || name == "std") && s.Float("correction", 1) != 0:
		l.refuse("name %s with a correction of %v", name, s.Float("correction", 1))
	case name == "norm" && s.Float("p", 2) != 2:
		l.refuse("a norm of order %v", s.Config["p"])
	}
	out := v
	if !keep {
		out.rank = v.rank - len(axes)
		out.first = v.first && out.rank > 1 && !slices.Contains(axes, v.rank)
	}
	class := map[string]string{"mean": "GlobalAveragePooling", "amax": "GlobalMaxPooling"}[name]
	if v.first && class != "" && v.rank < 5 && len(axes) == v.rank-1 && axes[len(axes)-1] < v.rank {
		out.ref = r.layer(class+dimension(v.rank-1), l.Name, map[string]any{"keepdims": keep}, v).ref
	} else {
		out.ref = r.lambda(l, functionOf[name], map[string]any{"axis": axes, "keepdims": keep}, v).ref
	}
	return out
}
