package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// chain connects the layers of a Sequential, behind an InputLayer, which is added if the
// model has none.
func chain(m *Model, built any) error {
	if len(m.Layers) == 0 {
		return fmt.Errorf("%s has no layers: %w", m.Name, ErrConfig)
	}
	if m.Layers[0].Class != "InputLayer" {
		m.Layers = slices.Insert(m.Layers, 0, inputFor(m, built))
	}
	for i := range m.Layers {
		l := &m.Layers[i]
		if i == 0 {
			l.Calls = [][]Ref{nil}
			continue
		}
		if l.Class == "InputLayer" {
			return fmt.Errorf("%s: an InputLayer, %s, behind other layers: %w", m.Name, l.Name, ErrConfig)
		}
		l.Calls = [][]Ref{{{Layer: m.Layers[i-1].Name}}}
	}
	m.Inputs = []Ref{{Layer: m.Layers[0].Name}}
	m.Outputs = []Ref{{Layer: m.Layers[len(m.Layers)-1].Name}}
	return nil
}

// inputFor returns the InputLayer that the first layer of a Sequential implies, or the shape that it was built for.
func inputFor(m *Model, built any) Layer {
	first := m.Layers[0]
	name := first.Name + "_input"
	for m.Layer(name) != nil {
		name += "_"
	}
	config := map[string]any{"name": name}
	for _, shape := range []any{built, first.Config["batch_input_shape"], first.Config["batch_shape"]} {
		if list, ok := shape.([]any); ok && len(list) > 0 {
			config["batch_shape"] = list
		}
	}
	return Layer{Class: "InputLayer", Name: name, Config: config}
}

// connect reads the calls of the layers of a functional model. A call is a list of inputs in Keras 1 and 2,
//
//	[["dense", 0, 0, {}], ["dense_1", 0, 0, {"training": false}]]
//
// and in Keras 3 an object with the arguments, in which tensors are
//
//	{"class_name": "__keras_tensor__", "config": {"keras_history": ["dense", 0, 0], …}}
func connect(m *Model, g graph) error {
	g.countFromZero()
	for i, o := range g.layers {
		l := &m.Layers[i]
		if l.Class == "TFOpLambda" || l.Class == "SlicingOpLambda" { // as an operation of Keras 3, if it has one
			o = maps.Clone(o)
			if g.operation(o); textIn(o, "class_name") != l.Class {
				l.Class, l.Config = "ops."+textIn(o, "class_name"), configIn(o)
			}
		}
		for _, node := range nodesIn(o) {
			l.Calls, l.Arguments = append(l.Calls, refsOf(node)), append(l.Arguments, argumentsOf(node))
		}
		if calls := callsOfKeras3(o); strings.HasPrefix(l.Class, "ops.") && len(calls) == 1 && !hasArguments(calls[0]["kwargs"]) {
			args, _ := calls[0]["args"].([]any)
			if class, config := layerOf(strings.TrimPrefix(l.Class, "ops."), args); class != "" {
				maps.Copy(config, l.Config)
				l.Class, l.Config = class, config
			} else {
				l.Config = maps.Clone(l.Config)
			}
			l.Config[operands] = args
		}
	}
	m.Inputs, m.Outputs = refsOf(g.config["input_layers"]), refsOf(g.config["output_layers"])
	if len(m.Inputs) == 0 || len(m.Outputs) == 0 {
		return fmt.Errorf("%s has no inputs or no outputs: %w", m.Name, ErrConfig)
	}
	return checkRefs(m)
}

// hasArguments reports whether there are arguments by name.
func hasArguments(named any) bool {
	all, _ := named.(map[string]any)
	for _, v := range all {
		if v != nil {
			return true
		}
	}
	return false
}

// layerOf returns the class and the settings, beside the settings of the operation itself, of the layer that an operation of Keras 3 is, or "": x + y is Add
// of both, 1 - x and 2*x are Rescaling.
func layerOf(operation string, args []any) (class string, config map[string]any) {
	tensors := 0
	for _, v := range args {
		tensors += len(refsOf(v))
	}
	config = map[string]any{}
	switch {
	case tensors == 2 && len(args) == 2 && slices.Contains([]string{"Add", "Subtract", "Multiply", "Maximum", "Minimum"}, operation) && len(refsOf(args[0])) == 1:
		return operation, config
	case len(args) == 1 && operation == "Concatenate":
		return operation, config
	case tensors != 1:
	case len(args) == 1 && operationLayers[operation] != "":
		return operationLayers[operation], config
	case len(args) == 1 && operation == "Negative":
		return "Rescaling", map[string]any{"scale": -1.0, "offset": 0.0}
	case len(args) == 1 && operationActivations[operation] != "":
		return "Activation", map[string]any{"activation": operationActivations[operation]}
	case len(args) == 2:
		return rescalingOf(operation, args)
	}
	return "", nil
}

// operationActivations has the activations by the operations of Keras 3 that compute them without settings.
var operationActivations = map[string]string{
	"Relu": "relu", "Relu6": "relu6", "Tanh": "tanh", "Sigmoid": "sigmoid", "Silu": "silu", "Softplus": "softplus", "Softsign": "softsign",
	"Selu": "selu", "Exp": "exponential", "LogSigmoid": "log_sigmoid", "HardSigmoid": "hard_sigmoid", "HardSilu": "hard_silu", "Mish": "mish",
	"TanhShrink": "tanh_shrink", "HardTanh": "hard_tanh", "Squareplus": "squareplus",
}

// operationLayers has the layers by the operations of Keras 3 that have the same settings.
var operationLayers = map[string]string{"Softmax": "Softmax", "LeakyRelu": "LeakyReLU", "Elu": "ELU"}

// isOperationClass reports whether a class is the class of an operation of Keras 3 that is translated.
func isOperationClass(class string) bool {
	_, known := classes["ops."+class]
	return known && !classes[class].several || // layers such as Add are told apart by their calls
		operationLayers[class] != "" || operationActivations[class] != "" || class == "Concatenate" || class == "Negative"
}

// rescalingOf is layerOf of a tensor and a number, in any order.
func rescalingOf(operation string, args []any) (class string, config map[string]any) {
	c, behind := number(args[1])
	before := false
	if !behind {
		c, before = number(args[0])
	}
	scale, offset := 1.0, c
	switch {
	case !behind && !before:
		return "", nil
	case operation == "Add":
	case operation == "Subtract" && behind:
		offset = -c
	case operation == "Subtract":
		scale = -1
	case operation == "Multiply":
		scale, offset = c, 0
	case (operation == "Divide" || operation == "TrueDivide") && behind && c != 0:
		scale, offset = 1/c, 0
	default:
		return "", nil
	}
	return "Rescaling", map[string]any{"scale": scale, "offset": offset}
}

// operands is the setting that the operands of an operation of Keras 3 are kept as, tensors and numbers.
const operands = "operands of the call"

// callsOfKeras3 returns the calls of a layer that are objects of arguments, as in Keras 3. Keras 2
// has objects of inputs by name.
func callsOfKeras3(o map[string]any) (calls []map[string]any) {
	for _, call := range objectsIn(o["inbound_nodes"]) {
		if call["args"] != nil {
			calls = append(calls, call)
		}
	}
	return calls
}

// isOperation reports whether a layer is an operation of Keras 3: its class is one, and it lacks the setting trainable, which all layers have;
// or a call has arguments that layers do not take, numbers by position, or several tensors by position where a layer takes a list. A Reshape
// is one if it lacks the setting of the layer.
func isOperation(o map[string]any) bool {
	class := textIn(o, "class_name")
	if _, layer := configIn(o)["trainable"]; !layer && isOfKeras3(o) && isOperationClass(class) {
		return true
	}
	merges := classes[class].several && classes[class].outputs == nil && !strings.HasSuffix(class, "Attention")
	return slices.ContainsFunc(callsOfKeras3(o), func(call map[string]any) bool {
		args, _ := call["args"].([]any)
		if len(args) == 0 {
			return false
		}
		_, several := args[0].([]any)
		return class == "Reshape" && field(o, "target_shape") == nil || merges && !several ||
			slices.ContainsFunc(args, func(v any) bool { return v != nil && len(refsOf(v)) == 0 })
	})
}

// isTraining reports whether a call has the argument training=True. Keras 3 writes it for layers that
// augment data, whose default it is, and predicts without.
func isTraining(o map[string]any) (training bool) {
	for _, call := range callsOfKeras3(o) {
		named, _ := call["kwargs"].(map[string]any)
		training = training || named["training"] == true && !strings.HasPrefix(classIn(o), "Random")
	}
	eachRef(o["inbound_nodes"], func(ref []any) {
		if len(ref) == 4 {
			named, _ := ref[3].(map[string]any)
			training = training || named["training"] == true
		}
	})
	return training
}

// checkRefs returns an error if a reference leads nowhere.
func checkRefs(m *Model) error {
	calls := map[string]int{}
	all := [][]Ref{m.Inputs, m.Outputs}
	for i := range m.Layers {
		l := &m.Layers[i]
		if len(l.Calls) == 0 && l.Class == "InputLayer" {
			l.Calls = [][]Ref{nil}
		}
		calls[l.Name] = len(l.Calls)
		all = append(all, l.Calls...)
	}
	for _, refs := range all {
		for _, r := range refs {
			if r.Node < 0 || r.Node >= calls[r.Layer] || r.Tensor < 0 {
				return fmt.Errorf("%s: a layer takes output %d of call %d of %q, which does not exist: %w", m.Name, r.Tensor, r.Node, r.Layer, ErrConfig)
			}
		}
	}
	return nil
}

// A layerCall is one use of a layer of a model.
type layerCall struct{ layer, node int }

// order returns the calls of all layers in an order in which the inputs of each come
// first, and else as they are listed.
func order(m *Model) ([]layerCall, error) {
	at := map[string]int{}
	users := map[layerCall][]layerCall{}
	missing := map[layerCall]int{}
	for i := range m.Layers {
		at[m.Layers[i].Name] = i
	}
	var ready, sorted []layerCall
	for i := range m.Layers {
		for node, inputs := range m.Layers[i].Calls {
			c := layerCall{i, node}
			for _, r := range inputs {
				from := layerCall{at[r.Layer], r.Node}
				users[from] = append(users[from], c)
			}
			if missing[c] = len(inputs); len(inputs) == 0 {
				ready = append(ready, c)
			}
		}
	}
	for len(ready) > 0 {
		c := ready[0]
		ready = ready[1:]
		sorted = append(sorted, c)
		for _, u := range users[c] {
			if missing[u]--; missing[u] == 0 {
				ready = append(ready, u)
			}
		}
	}
	for i, l := range m.Layers {
		for node := range l.Calls {
			if missing[layerCall{i, node}] > 0 {
				return nil, fmt.Errorf("the inputs of %s depend on its own output: %w", l.Name, ErrConfig)
			}
		}
	}
	return sorted, nil
}

// walk visits the calls of the layers of m, the inputs of each first, with the values of its inputs, and returns the values of
// the outputs of m. A value that no layer has made is the zero value. An InputLayer gets an input of m.
func walk[V any](m *Model, inputs []V, visit func(l *Layer, node int, in []V) ([]V, error)) ([]V, error) {
	calls, err := order(m)
	if err != nil {
		return nil, err
	}
	given, known := map[string]V{}, map[Ref]V{}
	for i, r := range m.Inputs[:min(len(inputs), len(m.Inputs))] {
		given[r.Layer] = inputs[i]
	}
	for _, c := range calls {
		l := &m.Layers[c.layer]
		var in []V
		for _, r := range l.Calls[c.node] {
			in = append(in, known[r])
		}
		if v, ok := given[l.Name]; ok {
			in = []V{v}
		}
		out, err := visit(l, c.node, in)
		if err != nil {
			return nil, err
		}
		for i, v := range out {
			known[Ref{Layer: l.Name, Node: c.node, Tensor: i}] = v
		}
	}
	outputs := make([]V, len(m.Outputs))
	for i, r := range m.Outputs {
		outputs[i] = known[r]
	}
	return outputs, nil
}

// refsOf returns the tensors in the arguments of a call, in order.
func refsOf(arguments any) (all []Ref) {
	eachTensor(arguments, func(ref []any, _ map[string]any) {
		switch {
		case ref == nil:
			all = append(all, Ref{}) // of no layer, which checkRefs refuses
		case ref[0] != constantValue:
			tensor, _ := integer(ref[2])
			all = append(all, Ref{Layer: ref[0].(string), Node: nodeOf(ref), Tensor: tensor})
		}
	})
	return all
}

// argumentsOf returns the arguments by name of a call, whose inputs are in the order of refsOf.
func argumentsOf(call any) (a Arguments) {
	var visit func(v any, name string)
	visit = func(v any, name string) {
		switch v := v.(type) {
		case []any:
			if isRef(v) {
				if v[0] != constantValue {
					a.Inputs = append(a.Inputs, name)
				}
				v = v[3:]
			}
			for _, one := range v {
				visit(one, name)
			}
		case map[string]any:
			if v["class_name"] == tensorClass {
				a.Inputs = append(a.Inputs, name)
				return
			}
			for _, key := range argumentOrder(v) {
				if key == "args" || key == "kwargs" {
					visit(v[key], name)
				} else {
					visit(v[key], key)
				}
			}
		case bool:
			if v && name != "" && name != "training" {
				a.Flags = append(a.Flags, name)
			}
		}
	}
	visit(call, "")
	return a
}

// eachRef visits the references, [layer, call, output, …], to outputs of layers in the arguments of a call, in the order in
// which layers take them.
func eachRef(arguments any, visit func(ref []any)) {
	eachTensor(arguments, func(ref []any, _ map[string]any) {
		if ref != nil {
			visit(ref)
		}
	})
}

// eachTensor visits references with the objects that Keras 3 has for tensors; nil for an object without one.
func eachTensor(v any, visit func(ref []any, tensor map[string]any)) {
	switch v := v.(type) {
	case []any:
		if isRef(v) {
			visit(v, nil)
			v = v[3:] // arguments by name
		}
		for _, one := range v {
			eachTensor(one, visit)
		}
	case map[string]any:
		if v["class_name"] == tensorClass {
			history, _ := field(v, "keras_history").([]any)
			if !isRef(history) {
				history = nil
			}
			visit(history, v)
			return
		}
		for _, key := range argumentOrder(v) {
			eachTensor(v[key], visit)
		}
	}
}

// tensorClass is the class of the objects that Keras 3 has for tensors.
const tensorClass = "__keras_tensor__"

// isRef reports whether v is [layer, call, output] or, in a call of Keras 2, that and the
// arguments.
func isRef(v []any) bool {
	if len(v) != 3 && len(v) != 4 {
		return false
	}
	_, name := v[0].(string)
	_, node := integer(v[1])
	_, tensor := integer(v[2])
	return name && node && tensor
}

func nodeOf(ref []any) int {
	n, _ := integer(ref[1])
	return n
}

// inboundShapes returns the shapes that Keras 3 writes of the tensors in the first call of a layer, or
// nil. Calls that were translated from those of Keras 2 have shapes of the batch alone.
func inboundShapes(o map[string]any) (all [][]int) {
	nodes := nodesIn(o)
	if len(nodes) == 0 {
		return nil
	}
	known := true
	eachTensor(nodes[0], func(_ []any, tensor map[string]any) {
		if tensor != nil {
			shapes := shapesOf(field(tensor, "shape"))
			known = known && len(shapes) == 1 && len(shapes[0]) > 0
			all = append(all, shapes...)
		}
	})
	if !known {
		return nil
	}
	return all
}

// constantValue is the name that Keras 2 has in place of a layer's where the first argument of a
// function is a number: ["_CONSTANT_VALUE", -1, 1.0, {"y": ["dense", 0, 0]}] is 1/y.
const constantValue = "_CONSTANT_VALUE"

// argumentOrder returns the names of arguments in the order in which layers take them.
// The other ones are sorted.
func argumentOrder(arguments map[string]any) []string {
	first := []string{"args", "kwargs", "inputs", "query", "value", "key"}
	names := slices.DeleteFunc(slices.Clone(first), func(name string) bool { _, ok := arguments[name]; return !ok })
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return names
}
