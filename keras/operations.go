package keras

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// operations are the functions of TensorFlow that Keras 2 has as layers in graphs, such as x+3,
// and the modules and classes that Keras 3 has for them.
var operations = map[string][2]string{
	"__operators__.add": {"numpy", "Add"}, "math.add": {"numpy", "Add"}, "math.subtract": {"numpy", "Subtract"},
	"math.multiply": {"numpy", "Multiply"}, "math.truediv": {"numpy", "TrueDivide"}, "math.divide": {"numpy", "Divide"},
	"math.maximum": {"numpy", "Maximum"}, "math.minimum": {"numpy", "Minimum"},
	"math.exp": {"numpy", "Exp"}, "math.sqrt": {"numpy", "Sqrt"}, "math.square": {"numpy", "Square"}, "math.abs": {"numpy", "Absolute"},
	"math.negative": {"numpy", "Negative"}, "math.tanh": {"numpy", "Tanh"}, "nn.tanh": {"numpy", "Tanh"},
	"nn.relu": {"nn", "Relu"}, "nn.sigmoid": {"nn", "Sigmoid"}, "math.sigmoid": {"nn", "Sigmoid"},
}

// operation makes an operation of Keras 3 of a TFOpLambda if it has one and all its calls have
// no arguments but x and y.
func (g graph) operation(l map[string]any) {
	config, _ := l["config"].(map[string]any)
	function, _ := config["function"].(string)
	to, ok := operations[function]
	nodes, _ := l["inbound_nodes"].([]any)
	calls := make([]any, len(nodes))
	for i, node := range nodes {
		args, fits := g.operands(node)
		calls[i], ok = map[string]any{"args": args, "kwargs": map[string]any{}}, ok && fits
	}
	if !ok {
		return
	}
	l["module"], l["class_name"], l["registered_name"] = "keras.src.ops."+to[0], to[1], to[1]
	l["config"], l["inbound_nodes"] = map[string]any{"name": config["name"]}, calls
}

// operands returns the arguments of a call of an operation: [x, call, output, {"y": …}], in which
// x and y are layers or numbers.
func (g graph) operands(node any) (args []any, ok bool) {
	ref, _ := node.([]any)
	if len(ref) == 1 { // in a list
		ref, _ = ref[0].([]any)
	}
	if !isRef(ref) {
		return nil, false
	}
	args = []any{ref[2]}
	if ref[0] != constantValue {
		args[0] = g.tensor(ref)
	}
	if len(ref) < 4 {
		return args, true
	}
	named, _ := ref[3].(map[string]any)
	for name, v := range named {
		other, isList := v.([]any)
		_, number := v.(json.Number)
		switch {
		case name == "name" && v == nil:
		case name == "y" && number:
			args = append(args, v)
		case name == "y" && isList && isRef(other):
			args = append(args, g.tensor(other))
		default:
			return nil, false
		}
	}
	return args, true
}

// functions are the functions of TensorFlow by the operations of Keras 3.
var functions = func() map[string]string {
	inverse := map[string]string{}
	for _, function := range slices.Sorted(maps.Keys(operations)) { // __operators__ and math before nn
		to := operations[function]
		if class := to[0] + "." + to[1]; inverse[class] == "" {
			inverse[class] = function
		}
	}
	return inverse
}()

// function makes a TFOpLambda of an operation of Keras 3 that TensorFlow has as a function, the
// reverse of operation. It reports whether it did.
func (g graph) function(l map[string]any) bool {
	module, _ := l["module"].(string)
	class, _ := l["class_name"].(string)
	config, _ := l["config"].(map[string]any)
	function, ok := functions[strings.TrimPrefix(module, "keras.src.ops.")+"."+class]
	nodes, _ := l["inbound_nodes"].([]any)
	calls := make([]any, len(nodes))
	for i, node := range nodes {
		call, _ := node.(map[string]any)
		args, _ := call["args"].([]any)
		calls[i] = g.functionCall(args)
		ok = ok && calls[i] != nil
	}
	if !ok {
		return false
	}
	delete(l, "module")
	delete(l, "registered_name")
	l["class_name"], l["inbound_nodes"] = "TFOpLambda", calls
	l["config"] = map[string]any{"name": config["name"], "trainable": true, "function": function}
	return true
}

// functionCall returns a call of a TFOpLambda with one or two arguments, or nil.
func (g graph) functionCall(args []any) any {
	if len(args) < 1 || len(args) > 2 {
		return nil
	}
	named := map[string]any{"name": nil}
	if len(args) == 2 {
		named["y"] = g.withRefs(args[1])
	}
	switch x := g.withRefs(args[0]).(type) {
	case []any:
		if isRef(x) {
			return append(x, named)
		}
	case json.Number:
		return []any{constantValue, json.Number("-1"), x, named}
	}
	return nil
}
