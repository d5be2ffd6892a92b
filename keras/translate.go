package keras

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Keras 3 does not load most models of Keras 2, although both know nearly the same layers:
// it refuses settings that Keras 2 writes and never uses, such as time_major of an LSTM, and
// counts the calls of models within models differently.

// Translate rewrites a description of Keras 2 so that Keras 3 builds the same model. Keras 2
// loads the result, too, if it can be said in words of both. What cannot be, such as calls of
// functional models within models, is left to Keras 2 unless current is set.
func Translate(text string, current bool) (string, error) {
	o, err := decode(text)
	if err != nil {
		return "", err
	}
	translator{current}.object(o)
	return encode(o)
}

func encode(o map[string]any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		return "", fmt.Errorf("model configuration: %w", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// A translator rewrites objects in place.
type translator struct{ current bool }

// value translates all objects within v.
func (t translator) value(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			t.value(one)
		}
	case map[string]any:
		if _, ok := v["config"].(map[string]any); ok && v["class_name"] != nil {
			t.object(v)
			return
		}
		for _, one := range v {
			t.value(one)
		}
	}
}

// object translates a layer, a model or another object that has a class.
func (t translator) object(o map[string]any) {
	class, _ := o["class_name"].(string)
	config, ok := o["config"].(map[string]any)
	if !ok {
		return
	}
	if module, ok := o["module"].(string); ok {
		o["module"] = strings.Replace(module, "tf_keras.", "keras.", 1)
	}
	if registered, _ := o["registered_name"].(string); !t.current && strings.HasSuffix(registered, ">"+class) {
		o["class_name"] = registered // by which Keras 2 finds it in an .h5
		delete(o, "module")
		delete(o, "registered_name")
	}
	if isModel(class) {
		t.model(o, config)
	} else {
		built := attentionShapesOf(o)
		delete(o, "build_config") // shapes of Keras 2 without the call's other inputs
		t.layer(o, class, config)
		if class == "MultiHeadAttention" {
			t.attention(o, config, built)
		}
	}
	for name, v := range config {
		if name != "layers" || !isModel(class) {
			t.value(v)
		}
	}
	if inner, ok := config["layer"].(map[string]any); ok && t.current {
		returnOne(inner)
	}
}

// model translates a model. Its module says where its class is in Keras 2.15; Model of keras,
// which makes a functional model of such a configuration, is in both.
func (t translator) model(o, config map[string]any) {
	if o["module"] != nil && o["class_name"] != "Sequential" {
		o["module"], o["class_name"], o["registered_name"] = "keras", "Model", nil
	}
	delete(o, "build_config")
	layers := objectsIn(config["layers"])
	if o["class_name"] == "Sequential" {
		layers = withInput(layers)
	}
	list := make([]any, len(layers))
	for i, l := range layers {
		t.object(l)
		if t.current && o["class_name"] == "Sequential" {
			returnOne(l)
		}
		list[i] = l
	}
	config["layers"] = list
	if o["class_name"] != "Sequential" {
		t.graph(config, layers)
	}
}

// returnOne makes the only output of a functional model one tensor, where it is in a list of one,
// which neither the next layer of a Sequential nor TimeDistributed takes in Keras 3.
func returnOne(l map[string]any) {
	config, _ := l["config"].(map[string]any)
	if outputs, _ := config["output_layers"].([]any); len(outputs) == 1 {
		config["output_layers"] = outputs[0]
	}
}

func objectsIn(list any) (objects []map[string]any) {
	all, _ := list.([]any)
	for _, one := range all {
		if o, ok := one.(map[string]any); ok {
			objects = append(objects, o)
		}
	}
	return objects
}

// withInput returns the layers of a Sequential behind an InputLayer, if the first of them says
// the shape, which only an InputLayer may do in Keras 3.
func withInput(layers []map[string]any) []map[string]any {
	if len(layers) == 0 || layers[0]["class_name"] == "InputLayer" {
		return layers
	}
	first := layers[0]
	config, _ := first["config"].(map[string]any)
	shape := config["batch_input_shape"]
	if shape == nil {
		return layers
	}
	settings := map[string]any{"batch_input_shape": shape, "name": fmt.Sprint(config["name"], "_input")}
	if dtype, ok := config["dtype"].(string); ok && first["class_name"] != "Embedding" && !strings.HasPrefix(dtype, "mixed") {
		settings["dtype"] = dtype
	}
	input := map[string]any{"class_name": "InputLayer", "config": settings}
	if first["module"] != nil {
		input["module"], input["registered_name"] = "keras.layers", nil
	}
	return append([]map[string]any{input}, layers...)
}

// attentionInputs are the inputs of a MultiHeadAttention whose shapes are stored.
var attentionInputs = []string{"query_shape", "key_shape", "value_shape"}

// attentionShapesOf returns the shapes by which Keras 3 builds a layer of several inputs, or nil.
func attentionShapesOf(o map[string]any) map[string]any {
	built, _ := o["build_config"].(map[string]any)
	shapes, _ := built["shapes_dict"].(map[string]any)
	return shapes
}

// attention moves the shapes of the inputs of an attention to where the version has them: Keras 2
// makes the variables by settings that Keras 3 refuses, and Keras 3 by what the layer is built with.
func (t translator) attention(o, config, built map[string]any) {
	shapes := map[string]any{}
	for _, name := range attentionInputs {
		for _, from := range []map[string]any{built, config} {
			if shape, ok := from[name]; ok && shape != nil {
				shapes[name] = shape
			}
		}
	}
	if !t.current {
		maps.Copy(config, shapes)
		return
	}
	for _, name := range attentionInputs {
		delete(config, name)
	}
	if len(shapes) == len(attentionInputs) {
		o["build_config"] = map[string]any{"shapes_dict": shapes}
	}
}

// unused lists settings that layers of Keras 2 write and never use, by the beginning of the
// name of their class. They are left out if they have the value, or any value if that is nil.
var unused = []struct {
	class    string
	settings []string
	value    any
}{
	{"SpatialDropout", []string{"trainable", "noise_shape"}, nil},
	{"Discretization", []string{"trainable"}, nil},
	{"DepthwiseConv", []string{"groups"}, json.Number("1")},
	{"DepthwiseConv", []string{"kernel_initializer", "kernel_regularizer", "kernel_constraint"}, nil},
	{"SeparableConv", []string{"groups"}, json.Number("1")},
	{"SeparableConv", []string{"kernel_initializer", "kernel_regularizer", "kernel_constraint"}, nil},
	{"Conv1DTranspose", []string{"groups"}, json.Number("1")},
	{"Conv2DTranspose", []string{"groups"}, json.Number("1")},
	{"Conv3DTranspose", []string{"groups"}, json.Number("1")},
	{"LSTM", []string{"time_major"}, false},
	{"GRU", []string{"time_major"}, false},
	{"SimpleRNN", []string{"time_major"}, false},
	{"RNN", []string{"time_major"}, false},
	{"ConvLSTM", []string{"time_major"}, false},
	{"Bidirectional", []string{"time_major"}, false},
	{"BatchNormalization", []string{"renorm"}, false},
	{"BatchNormalization", []string{"fused", "virtual_batch_size", "adjustment"}, nil},
}

// layer translates the settings of a layer.
func (t translator) layer(o map[string]any, class string, config map[string]any) {
	for _, u := range unused {
		for _, name := range u.settings {
			if value, ok := config[name]; ok && strings.HasPrefix(class, u.class) && (u.value == nil || value == u.value) {
				delete(config, name)
			}
		}
	}
	if class != "InputLayer" {
		delete(config, "batch_input_shape")
	}
	if policy, ok := config["dtype"].(map[string]any); ok {
		if settings, ok := policy["config"].(map[string]any); ok && fmt.Sprint(policy["class_name"]) != "DTypePolicyMap" && settings["name"] != nil {
			config["dtype"] = settings["name"]
		}
	}
	switch class {
	case "BatchNormalization", "SyncBatchNormalization":
		if axes, _ := config["axis"].([]any); len(axes) == 1 {
			config["axis"] = axes[0]
		}
	case "GRU":
		if _, ok := config["reset_after"]; !ok {
			config["reset_after"] = false // which there was not before Keras 2.1
		}
	case "ThresholdedReLU":
		o["class_name"], config["threshold"] = "ReLU", config["theta"]
		delete(config, "theta")
	}
	addModule(o, class, config)
}

// graph translates the calls of the layers of a functional model. In Keras 2, call 0 of a
// model within the model is the one by which it was defined. In Keras 3 it is so for
// functional models, but only in output_layers.
func (t translator) graph(config map[string]any, layers []map[string]any) {
	g := graph{config: config, layers: layers, counts: map[string]int{}}
	current := false
	for _, l := range layers {
		name, _ := l["name"].(string)
		class, _ := l["class_name"].(string)
		nodes, _ := l["inbound_nodes"].([]any)
		if isModel(class) {
			switch {
			case !g.fromOne(name, len(nodes)):
			case class == "Sequential":
				if !t.current {
					withoutInput(l)
				}
				g.shift(name)
			default:
				g.counts[name] = 1
				current = true
			}
		}
	}
	if t.current {
		g.rewrite(current)
	}
}

type graph struct {
	config map[string]any
	layers []map[string]any
	counts map[string]int // 1 for functional models whose calls are counted from 1
}

// each calls visit with every reference, [layer, call, output, …], to an output of a layer.
func (g graph) each(visit func(ref []any)) {
	for _, l := range g.layers {
		eachRef(l["inbound_nodes"], visit)
	}
	g.eachOutput(visit)
}

func (g graph) eachOutput(visit func(ref []any)) {
	eachRef(g.config["input_layers"], visit)
	eachRef(g.config["output_layers"], visit)
}

func eachRef(v any, visit func(ref []any)) {
	switch v := v.(type) {
	case []any:
		if isRef(v) {
			visit(v)
		}
		for _, one := range v {
			eachRef(one, visit)
		}
	case map[string]any:
		for _, one := range v {
			eachRef(one, visit)
		}
	}
}

// isRef reports whether v is [layer, call, output] or, in a call of Keras 2, that and the
// arguments.
func isRef(v []any) bool {
	if len(v) != 3 && len(v) != 4 {
		return false
	}
	_, name := v[0].(string)
	_, node := v[1].(json.Number)
	_, tensor := v[2].(json.Number)
	return name && node && tensor
}

func nodeOf(ref []any) int {
	n, _ := ref[1].(json.Number).Int64()
	return int(n)
}

// fromOne reports whether calls of the named layer, of which there are n, are counted from 1.
func (g graph) fromOne(name string, n int) bool {
	last := 0
	g.each(func(ref []any) {
		if ref[0] == name {
			last = max(last, nodeOf(ref))
		}
	})
	return last == n
}

// shift counts the calls of the named layer from 0.
func (g graph) shift(name string) {
	g.each(func(ref []any) {
		if ref[0] == name {
			ref[1] = json.Number(fmt.Sprint(nodeOf(ref) - 1))
		}
	})
}

// withoutInput takes the InputLayer from a Sequential: both versions of Keras count the calls
// of one without it from 0. Keras 3 alone does so with it.
func withoutInput(l map[string]any) {
	config, _ := l["config"].(map[string]any)
	if layers := objectsIn(config["layers"]); len(layers) > 1 && layers[0]["class_name"] == "InputLayer" {
		config["layers"] = config["layers"].([]any)[1:]
	}
	delete(config, "build_input_shape")
}

// rewrite writes calls as Keras 3 does, which Keras 2 does not read: all of them, or those
// with tensors among their named arguments, and with the states of a recurrent layer.
func (g graph) rewrite(all bool) {
	for _, l := range g.layers {
		class, _ := l["class_name"].(string)
		if class == "TFOpLambda" {
			g.operation(l)
		}
		nodes, _ := l["inbound_nodes"].([]any)
		for i, node := range nodes {
			inputs, ok := node.([]any)
			if ok && isRef(inputs) { // of a single tensor
				inputs = []any{inputs}
			}
			if ok && len(inputs) > 0 && (all || g.needsNames(class, inputs)) {
				nodes[i] = g.call(class, inputs)
			}
		}
	}
}

func (g graph) needsNames(class string, inputs []any) bool {
	named := false
	for _, one := range inputs {
		if ref, ok := one.([]any); ok && len(ref) == 4 {
			eachRef(ref[3], func([]any) { named = true })
		}
	}
	return named || takesSeveral[class] != "" && len(inputs) > 1
}

// takesSeveral has the names of the arguments of layers whose further inputs are arguments of
// their own in Keras 3.
var takesSeveral = map[string]string{"LSTM": "initial_state", "GRU": "initial_state", "SimpleRNN": "initial_state", "RNN": "initial_state", "ConvLSTM2D": "initial_state", "Bidirectional": "initial_state"}

// call returns a call as Keras 3 writes it: the tensors among args and kwargs are objects.
func (g graph) call(class string, inputs []any) map[string]any {
	kwargs := map[string]any{}
	var tensors []any
	for _, one := range inputs {
		ref, ok := one.([]any)
		if !ok || !isRef(ref) {
			continue
		}
		tensors = append(tensors, g.tensor(ref))
		if len(ref) == 4 {
			if named, ok := ref[3].(map[string]any); ok {
				maps.Copy(kwargs, named)
			}
		}
	}
	for name, v := range kwargs {
		kwargs[name] = g.tensors(v)
	}
	if name := takesSeveral[class]; name != "" && len(tensors) > 1 {
		kwargs[name] = slices.Clone(tensors[1:])
		tensors = tensors[:1]
	}
	var args any = tensors
	if len(tensors) == 1 {
		args = tensors[0]
	}
	return map[string]any{"args": []any{args}, "kwargs": kwargs}
}

// tensors replaces the references in an argument.
func (g graph) tensors(v any) any {
	switch v := v.(type) {
	case []any:
		if isRef(v) {
			return g.tensor(v)
		}
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = g.tensors(one)
		}
		return list
	case map[string]any:
		for name, one := range v {
			v[name] = g.tensors(one)
		}
	}
	return v
}

// tensor returns the object for a reference. Keras finds its shape in the graph.
func (g graph) tensor(ref []any) map[string]any {
	name, _ := ref[0].(string)
	node := json.Number(fmt.Sprint(nodeOf(ref) - g.counts[name]))
	return map[string]any{"class_name": "__keras_tensor__", "config": map[string]any{
		"shape": []any{nil}, "dtype": "float32", "keras_history": []any{name, node, ref[2]},
	}}
}
