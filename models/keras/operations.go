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
	class    string         // "Mean"
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
		{functions: `math.exp=Exp math.sqrt=Sqrt math.square=Square math.abs=Absolute math.negative=Negative math.tanh=Tanh nn.tanh=Tanh math.log=Log
			math.log1p=Log1p math.expm1=Expm1 math.sin=Sin math.cos=Cos math.tan=Tan math.sinh=Sinh math.cosh=Cosh math.floor=Floor math.ceil=Ceil
			math.round=Round math.sign=Sign math.reciprocal=Reciprocal math.rsqrt=Rsqrt math.erf=Erf math.logical_not=LogicalNot zeros_like=ZerosLike
			ones_like=OnesLike identity=Copy stop_gradient=StopGradient nn.relu=Relu nn.relu6=Relu6 nn.sigmoid=Sigmoid math.sigmoid=Sigmoid nn.elu=Elu
			nn.selu=Selu math.softplus=Softplus nn.softsign=Softsign nn.silu=Silu`},
		{operands: "y", functions: `__operators__.add=Add math.add=Add math.subtract=Subtract math.multiply=Multiply math.truediv=TrueDivide
			math.divide=Divide math.divide_no_nan=DivideNoNan compat.v1.floor_div=FloorDivide math.floormod=Mod math.pow=Power math.maximum=Maximum
			math.minimum=Minimum math.greater=Greater math.greater_equal=GreaterEqual math.less=Less math.less_equal=LessEqual math.equal=Equal
			math.not_equal=NotEqual math.logical_and=LogicalAnd math.logical_or=LogicalOr`},
		{settings: "axis keepdims", functions: `math.reduce_mean=Mean math.reduce_sum=Sum math.reduce_max=Max math.reduce_min=Min math.reduce_prod=Prod
			math.reduce_std=Std math.reduce_variance=Var math.reduce_any=Any math.reduce_all=All math.reduce_logsumexp=Logsumexp`},
		{settings: "axis", functions: `expand_dims=ExpandDims compat.v1.squeeze=Squeeze reverse=Flip unstack=Unstack nn.softmax=Softmax
			nn.log_softmax=LogSoftmax`},
		{settings: "axis keepdims ord", functions: "compat.v1.norm=Norm norm=Norm"},
		{settings: "axis", defaults: map[string]any{"axis": json.Number("0")}, functions: "math.cumsum=Cumsum math.argmax=Argmax math.argmin=Argmin"},
		{settings: "axis", list: true, functions: "concat=Concatenate stack=Stack"},
		{settings: "axis", defaults: map[string]any{"axis": nil, "order": json.Number("2"), "epsilon": json.Number("1e-06")}, functions: "math.l2_normalize=Normalize"}, // of the norm, not of its square
		{settings: "axis", operands: "indices", functions: "compat.v1.gather=Take gather=Take"},
		{operands: "x y", functions: "where=Where"},
		{operands: "b", functions: "linalg.matmul=Matmul"},
		{operands: "slice_spec", functions: getItem + "=GetItem"},
		{settings: "shape=newshape", functions: "reshape=Reshape"},
		{settings: "shape", functions: "broadcast_to=BroadcastTo"},
		{settings: "perm=axes", functions: "compat.v1.transpose=Transpose transpose=Transpose"},
		{settings: "multiples=repeats", functions: "tile=Tile"},
		{settings: "paddings=pad_width", functions: "compat.v1.pad=Pad pad=Pad"},
		{settings: "num_or_size_splits=indices_or_sections axis", functions: "split=Split"},
		{settings: "clip_value_min=x_min clip_value_max=x_max", functions: "clip_by_value=Clip"},
		{settings: "dtype", functions: "cast=Cast"},
		{settings: "depth=num_classes axis dtype", functions: "one_hot=OneHot"},
		{settings: "alpha=negative_slope", functions: "nn.leaky_relu=LeakyRelu"},
		{settings: "approximate", defaults: map[string]any{"approximate": false}, functions: "nn.gelu=Gelu"},
		{settings: "block_size", functions: "nn.depth_to_space=DepthToSpace"},
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
	function := textIn(configIn(l), "function")
	o, ok := operations[function]
	if slicing[function] {
		o, ok = operations[getItem], true
	}
	nodes := nodesIn(l)
	if !ok || len(nodes) != 1 { // calls of an operation have its settings in common
		return
	}
	tensors, named, ok := g.inputs(nodes[0])
	if !ok || len(tensors) == 0 || len(tensors) > 1 && !o.list {
		return
	}
	if slicing[function] {
		if named = sliceSpec(named); named == nil {
			return
		}
	}
	if sizes, list := named["num_or_size_splits"].([]any); list {
		ends, ok := integers(sizes)
		if !ok || len(ends) < 2 || slices.Min(ends) < 0 {
			return
		}
		indices := make([]any, len(ends)-1) // of Keras 3, in the place of sizes
		for i, end := 0, 0; i < len(indices); i++ {
			end += ends[i]
			indices[i] = json.Number(fmt.Sprint(end))
		}
		named["num_or_size_splits"] = indices
	}
	if subscripts := transposed[[2]bool{named["transpose_a"] == true, named["transpose_b"] == true}]; subscripts != "" {
		o.class, o.defaults = "Einsum", map[string]any{"subscripts": subscripts}
		delete(named, "transpose_a")
		delete(named, "transpose_b")
	}
	settings, ok := o.settingsOf(named)
	if !ok {
		return
	}
	args := []any{tensors[0]}
	if o.list {
		args[0] = tensors
	}
	for _, name := range o.operands {
		v, has := named[name]
		if args = append(args, g.operand(name, v)); !has || args[len(args)-1] == nil {
			return
		}
	}
	settings["name"] = field(l, "name")
	l["module"], l["class_name"], l["registered_name"] = "keras.src.ops", o.class, o.class
	l["config"], l["inbound_nodes"] = settings, []any{map[string]any{"args": args, "kwargs": map[string]any{}}}
}

// slicing are functions of TensorFlow that are index expressions with ranges alone.
var slicing = map[string]bool{"strided_slice": true, "slice": true}

// sliceSpec returns the arguments of the index expression that tf.slice and tf.strided_slice are, or nil.
func sliceSpec(named map[string]any) map[string]any {
	number := func(name string, otherwise int) []int {
		list, ok := integers(named[name])
		if !ok {
			return []int{otherwise}
		}
		return list
	}
	begin, size, steps := number("begin", 0), named["size"], number("strides", 1)
	last := number("end", 0)
	if size != nil {
		last = number("size", 0)
	}
	masks := map[string]int{}
	for _, name := range []string{"begin_mask", "end_mask", "shrink_axis_mask", "ellipsis_mask", "new_axis_mask"} {
		masks[name] = number(name, 0)[0]
	}
	if named["begin"] == nil || len(last) != len(begin) || masks["ellipsis_mask"]|masks["new_axis_mask"] != 0 || hasRefs(named["begin"]) || hasRefs(named["end"]) || hasRefs(size) {
		return nil
	}
	var spec []any
	for i := range begin {
		set := func(name string) bool { return masks[name]>>i&1 == 1 }
		one := map[string]any{"start": begin[i], "stop": last[i], "step": steps[min(i, len(steps)-1)]}
		switch {
		case set("shrink_axis_mask"):
			spec = append(spec, begin[i])
			continue
		case size != nil && last[i] == -1:
			one["stop"] = nil
		case size != nil:
			one["stop"] = begin[i] + last[i]
		}
		if set("begin_mask") || size != nil && begin[i] == 0 {
			one["start"] = nil
		}
		if set("end_mask") {
			one["stop"] = nil
		}
		spec = append(spec, one)
	}
	return map[string]any{"slice_spec": spec}
}

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
		case float64:
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
	return rewritten(spec, func(v any) (any, bool) {
		o, ok := v.(map[string]any)
		if o["class_name"] != nil { // an ellipsis
			return map[string]any{"class_name": o["class_name"], "config": map[string]any{}}, true
		}
		return map[string]any{"class_name": "__slice__", "config": v}, ok
	})
}

// slicesOfKeras2 is the reverse of slicesOfKeras3.
func slicesOfKeras2(key any) any {
	return rewritten(key, func(v any) (any, bool) {
		o, ok := v.(map[string]any)
		if o["class_name"] == "__slice__" {
			return o["config"], true
		}
		return map[string]any{"class_name": o["class_name"]}, ok
	})
}

// rewritten returns a copy of a value in which f has replaced values within others, the outer ones first. It reports
// whether it does.
func rewritten(v any, f func(v any) (any, bool)) any {
	if other, ok := f(v); ok {
		return other
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = rewritten(one, f)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, one := range v {
			object[name] = rewritten(one, f)
		}
		return object
	}
	return v
}

// functions are the functions of TensorFlow by the classes of operations of Keras 3.
var functions = func() map[string]string {
	inverse := map[string]string{}
	for _, function := range slices.Sorted(maps.Keys(operations)) { // __operators__ and math before nn
		if class := operations[function].class; inverse[class] == "" {
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
