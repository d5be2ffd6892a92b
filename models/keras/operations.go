package keras

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An operation is what Keras 3 has for a function of TensorFlow that Keras 2 has as a layer in
// graphs, such as x+3.
type operation struct {
	class    string         // with its module below keras.src.ops: "numpy.Mean"
	list     bool           // takes a list of tensors
	operands []string       // TensorFlow's names of the arguments after the first
	settings [][2]string    // names of TensorFlow and of Keras
	defaults map[string]any // of TensorFlow, where Keras has others
}

// operations are the operations of Keras 3 by the functions of TensorFlow.
var operations = func() map[string]operation {
	all := map[string]operation{}
	for _, group := range []struct {
		list               bool
		operands, settings string
		defaults           map[string]any
		functions          string
	}{
		{functions: `math.exp=numpy.Exp math.sqrt=numpy.Sqrt math.square=numpy.Square math.abs=numpy.Absolute math.negative=numpy.Negative
			math.tanh=numpy.Tanh nn.tanh=numpy.Tanh math.log=numpy.Log math.log1p=numpy.Log1p math.expm1=numpy.Expm1 math.sin=numpy.Sin
			math.cos=numpy.Cos math.tan=numpy.Tan math.sinh=numpy.Sinh math.cosh=numpy.Cosh math.floor=numpy.Floor math.ceil=numpy.Ceil
			math.round=numpy.Round math.sign=numpy.Sign math.reciprocal=numpy.Reciprocal math.rsqrt=math.Rsqrt math.erf=math.Erf
			math.logical_not=numpy.LogicalNot zeros_like=numpy.ZerosLike ones_like=numpy.OnesLike identity=numpy.Copy
			stop_gradient=core.StopGradient nn.relu=nn.Relu nn.relu6=nn.Relu6 nn.sigmoid=nn.Sigmoid math.sigmoid=nn.Sigmoid nn.elu=nn.Elu
			nn.selu=nn.Selu math.softplus=nn.Softplus nn.softsign=nn.Softsign nn.silu=nn.Silu`},
		{operands: "y", functions: `__operators__.add=numpy.Add math.add=numpy.Add math.subtract=numpy.Subtract math.multiply=numpy.Multiply
			math.truediv=numpy.TrueDivide math.divide=numpy.Divide math.divide_no_nan=numpy.DivideNoNan compat.v1.floor_div=numpy.FloorDivide
			math.floormod=numpy.Mod math.pow=numpy.Power math.maximum=numpy.Maximum math.minimum=numpy.Minimum math.greater=numpy.Greater
			math.greater_equal=numpy.GreaterEqual math.less=numpy.Less math.less_equal=numpy.LessEqual math.equal=numpy.Equal
			math.not_equal=numpy.NotEqual math.logical_and=numpy.LogicalAnd math.logical_or=numpy.LogicalOr`},
		{settings: "axis keepdims", functions: `math.reduce_mean=numpy.Mean math.reduce_sum=numpy.Sum math.reduce_max=numpy.Max math.reduce_min=numpy.Min
			math.reduce_prod=numpy.Prod math.reduce_std=numpy.Std math.reduce_variance=numpy.Var math.reduce_any=numpy.Any math.reduce_all=numpy.All
			math.reduce_logsumexp=math.Logsumexp`},
		{settings: "axis", functions: `expand_dims=numpy.ExpandDims compat.v1.squeeze=numpy.Squeeze reverse=numpy.Flip unstack=core.Unstack
			nn.softmax=nn.Softmax nn.log_softmax=nn.LogSoftmax`},
		{settings: "axis", defaults: map[string]any{"axis": json.Number("0")}, functions: "math.cumsum=numpy.Cumsum math.argmax=numpy.Argmax math.argmin=numpy.Argmin"},
		{settings: "axis", list: true, functions: "concat=numpy.Concatenate stack=numpy.Stack"},
		{settings: "axis", defaults: map[string]any{"axis": nil, "order": json.Number("2"), "epsilon": json.Number("1e-06")}, functions: "math.l2_normalize=nn.Normalize"}, // of the norm, not of its square
		{settings: "axis", operands: "indices", functions: "compat.v1.gather=numpy.Take gather=numpy.Take"},
		{operands: "x y", functions: "where=numpy.Where"},
		{operands: "b", functions: "linalg.matmul=numpy.Matmul"},
		{operands: "slice_spec", functions: getItem + "=numpy.GetItem"},
		{settings: "shape=newshape", functions: "reshape=numpy.Reshape"},
		{settings: "shape", functions: "broadcast_to=numpy.BroadcastTo"},
		{settings: "perm=axes", functions: "compat.v1.transpose=numpy.Transpose transpose=numpy.Transpose"},
		{settings: "multiples=repeats", functions: "tile=numpy.Tile"},
		{settings: "paddings=pad_width", functions: "compat.v1.pad=numpy.Pad pad=numpy.Pad"},
		{settings: "num_or_size_splits=indices_or_sections axis", functions: "split=numpy.Split"},
		{settings: "clip_value_min=x_min clip_value_max=x_max", functions: "clip_by_value=numpy.Clip"},
		{settings: "dtype", functions: "cast=core.Cast"},
		{settings: "depth=num_classes axis dtype", functions: "one_hot=nn.OneHot"},
		{settings: "alpha=negative_slope", functions: "nn.leaky_relu=nn.LeakyRelu"},
		{settings: "approximate", defaults: map[string]any{"approximate": false}, functions: "nn.gelu=nn.Gelu"},
		{settings: "block_size", functions: "nn.depth_to_space=nn.DepthToSpace"},
	} {
		o := operation{list: group.list, operands: strings.Fields(group.operands), defaults: group.defaults}
		for _, setting := range strings.Fields(group.settings) {
			old, name, other := strings.Cut(setting, "=")
			if !other {
				name = old
			}
			o.settings = append(o.settings, [2]string{old, name})
		}
		for _, pair := range strings.Fields(group.functions) {
			function, class, _ := strings.Cut(pair, "=")
			o.class = class
			all[function] = o
		}
	}
	return all
}()

// getItem is the function of a SlicingOpLambda.
const getItem = "__operators__.getitem"

// ignored are arguments of TensorFlow's functions that change nothing if they have these values. So
// do all that are null, and the names of operations.
var ignored = map[string]string{
	"conjugate": "false", "batch_dims": "0", "mode": "CONSTANT", "constant_values": "0", "transpose_a": "false", "transpose_b": "false",
	"adjoint_a": "false", "adjoint_b": "false", "exclusive": "false", "reverse": "false", "output_type": "int64",
}

// transposed are the subscripts of a product of matrices the first, second or both of which are
// transposed.
var transposed = map[[2]bool]string{{true, false}: "...ji,...jk->...ik", {false, true}: "...ij,...kj->...ik", {true, true}: "...ji,...kj->...ik"}

// operation makes an operation of Keras 3 of a function of TensorFlow, if it has one with all the
// arguments of each call.
func (g graph) operation(l map[string]any) {
	o, ok := operations[textIn(configIn(l), "function")]
	nodes := nodesIn(l)
	if !ok || len(nodes) != 1 { // calls of an operation have its settings in common
		return
	}
	first, named, ok := g.arguments(nodes[0], o.list)
	if !ok {
		return
	}
	if subscripts := transposed[[2]bool{named["transpose_a"] == true, named["transpose_b"] == true}]; subscripts != "" {
		o.class, o.defaults = "numpy.Einsum", map[string]any{"subscripts": subscripts}
		delete(named, "transpose_a")
		delete(named, "transpose_b")
	}
	settings, ok := o.settingsOf(named)
	if !ok {
		return
	}
	args := []any{first}
	for _, name := range o.operands {
		v, has := named[name]
		if args = append(args, g.operand(name, v)); !has || args[len(args)-1] == nil {
			return
		}
	}
	settings["name"] = field(l, "name")
	module, class, _ := strings.Cut(o.class, ".")
	l["module"], l["class_name"], l["registered_name"] = "keras.src.ops."+module, class, class
	l["config"], l["inbound_nodes"] = settings, []any{map[string]any{"args": args, "kwargs": map[string]any{}}}
}

// arguments returns the first argument of a call, a tensor, several of them or a number, and those
// that have names.
func (g graph) arguments(node any, list bool) (first any, named map[string]any, ok bool) {
	inputs, _ := node.([]any)
	if isRef(inputs) || isConstant(inputs) {
		inputs = []any{inputs}
	}
	var tensors []any
	for _, one := range inputs {
		ref, _ := one.([]any)
		if !isRef(ref) && !isConstant(ref) {
			return nil, nil, false
		}
		if len(ref) == 4 {
			named, _ = ref[3].(map[string]any)
		}
		if ref[0] == constantValue {
			tensors = append(tensors, g.operand("", ref[2]))
		} else {
			tensors = append(tensors, g.tensor(ref))
		}
	}
	named = maps.Clone(named)
	if list {
		return tensors, named, len(tensors) > 0
	}
	if len(tensors) != 1 {
		return nil, nil, false
	}
	return tensors[0], named, true
}

// isConstant reports whether v is a number or an array, and the arguments, where a call of Keras 2
// has a tensor.
func isConstant(v []any) bool { return len(v) >= 3 && v[0] == constantValue }

// settingsOf returns the settings of the operation for arguments of the function, and whether it has
// all of them.
func (o operation) settingsOf(named map[string]any) (map[string]any, bool) {
	settings := map[string]any{}
	maps.Copy(settings, o.defaults)
	for name, v := range named {
		at := slices.IndexFunc(o.settings, func(s [2]string) bool { return s[0] == name })
		switch {
		case slices.Contains(o.operands, name):
		case at >= 0 && !hasRefs(v):
			settings[o.settings[at][1]] = v
		case v != nil && name != "name" && fmt.Sprint(v) != ignored[name]:
			return nil, false
		}
	}
	return settings, true
}

// hasRefs reports whether there are tensors in an argument.
func hasRefs(v any) (has bool) {
	eachRef(v, func([]any) { has = true })
	return has
}

// operand returns a further argument of an operation: a tensor, a number, a list of indices or what
// is between brackets. It returns nil for another one.
func (g graph) operand(name string, v any) any {
	list, isList := v.([]any)
	switch {
	case isList && isRef(list):
		return g.tensor(list)
	case hasRefs(v):
		return nil
	case name == "slice_spec":
		return slicesOfKeras3(v)
	case isList && name != "indices":
		return array(list)
	}
	return v
}

// array returns the object that Keras 3 has for an array, of lists of numbers or bools, or nil.
func array(list []any) any {
	dtype := ""
	var kind func(v any) bool
	kind = func(v any) bool {
		one := "float32"
		switch v := v.(type) {
		case []any:
			return len(v) > 0 && !slices.ContainsFunc(v, func(inner any) bool { return !kind(inner) })
		case bool:
			one = "bool"
		case json.Number:
			if _, err := v.Int64(); err == nil {
				one = "int32"
			}
		default:
			return false
		}
		if one == "float32" || dtype == "" {
			dtype = one
		}
		return true
	}
	if !kind(list) {
		return nil
	}
	return map[string]any{"class_name": "__numpy__", "config": map[string]any{"value": list, "dtype": dtype}}
}

// slicesOfKeras3 returns an index expression as Keras 3 writes it, where slices say that they are some.
func slicesOfKeras3(spec any) any {
	switch v := spec.(type) {
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = slicesOfKeras3(one)
		}
		return list
	case map[string]any:
		if v["class_name"] != nil { // an ellipsis
			return map[string]any{"class_name": v["class_name"], "config": map[string]any{}}
		}
		return map[string]any{"class_name": "__slice__", "config": v}
	}
	return spec
}

// slicesOfKeras2 is the reverse of slicesOfKeras3.
func slicesOfKeras2(key any) any {
	switch v := key.(type) {
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = slicesOfKeras2(one)
		}
		return list
	case map[string]any:
		if v["class_name"] == "__slice__" {
			return v["config"]
		}
		return map[string]any{"class_name": v["class_name"]}
	}
	return key
}

// functions are the functions of TensorFlow by the classes of operations of Keras 3.
var functions = func() map[string]string {
	inverse := map[string]string{}
	for _, function := range slices.Sorted(maps.Keys(operations)) { // __operators__ and math before nn
		if _, class, _ := strings.Cut(operations[function].class, "."); inverse[class] == "" {
			inverse[class] = function
		}
	}
	return inverse
}()

// function makes a function of TensorFlow of an operation of Keras 3, the reverse of operation. It
// reports whether it did.
func (g graph) function(l map[string]any) bool {
	function, ok := functions[textIn(l, "class_name")]
	if !ok || !strings.HasPrefix(textIn(l, "module"), "keras.src.ops") {
		return false
	}
	config := configIn(l)
	named, ok := operations[function].argumentsOf(config)
	nodes := nodesIn(l)
	calls := make([]any, len(nodes))
	for i, node := range nodes {
		calls[i] = g.functionCall(operations[function], node, named)
		ok = ok && calls[i] != nil
	}
	if !ok {
		return false
	}
	delete(l, "module")
	delete(l, "registered_name")
	l["class_name"], l["inbound_nodes"] = "TFOpLambda", calls
	if function == getItem {
		l["class_name"] = "SlicingOpLambda"
	}
	l["config"] = map[string]any{"name": config["name"], "trainable": true, "function": function}
	return true
}

// argumentsOf is the reverse of settingsOf.
func (o operation) argumentsOf(settings map[string]any) (map[string]any, bool) {
	named := map[string]any{}
	for name, v := range settings {
		at := slices.IndexFunc(o.settings, func(s [2]string) bool { return s[1] == name })
		switch {
		case at >= 0:
			named[o.settings[at][0]] = v
		case name != "name" && v != nil && v != o.defaults[name]:
			return nil, false
		}
	}
	return named, true
}

// functionCall returns a call of a function with the arguments that its operation has as settings,
// or nil.
func (g graph) functionCall(o operation, node any, settings map[string]any) any {
	call, _ := node.(map[string]any)
	args, _ := call["args"].([]any)
	kwargs, _ := call["kwargs"].(map[string]any)
	if len(args) != 1+len(o.operands) || len(kwargs) > 0 {
		return nil
	}
	named := map[string]any{"name": nil}
	maps.Copy(named, settings)
	for i, name := range o.operands {
		if named[name] = g.withRefs(args[1+i]); name == "slice_spec" {
			named[name] = slicesOfKeras2(args[1+i])
		}
	}
	list, several := args[0].([]any)
	if !several {
		return g.firstArgument(args[0], named)
	}
	inputs := make([]any, len(list))
	for i, one := range list {
		if inputs[i] = g.firstArgument(one, named); inputs[i] == nil {
			return nil
		}
	}
	return inputs
}

// firstArgument returns a tensor or a constant with the further arguments of a function, or nil.
func (g graph) firstArgument(v any, named map[string]any) any {
	switch x := g.withRefs(v).(type) {
	case []any:
		if isRef(x) {
			return append(x[:3:3], named)
		}
		return []any{constantValue, json.Number("-1"), x, named}
	case json.Number:
		return []any{constantValue, json.Number("-1"), x, named}
	}
	return nil
}
