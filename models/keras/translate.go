package keras

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	build := o["build_config"]
	translator{current}.object(o)
	if !isModel(textIn(o, "class_name")) && build != nil {
		o["build_config"] = build // by which a program's own model makes its weights
	}
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
	class, config := textIn(o, "class_name"), configIn(o)
	if config == nil {
		return
	}
	if other := withoutCuDNN(class, config); other != class {
		class, o["class_name"] = other, other
	}
	if module, ok := o["module"].(string); ok {
		o["module"] = strings.Replace(module, "tf_keras.", "keras.", 1)
	}
	if registered := textIn(o, "registered_name"); strings.HasSuffix(registered, ">"+class) {
		class = registered // not Keras's class of that name
		if !t.current {
			o["class_name"] = registered // by which Keras 2 finds it in an .h5
			delete(o, "module")
			delete(o, "registered_name")
		}
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
	config := configIn(l)
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
	config := configIn(first)
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
	if policy, _ := config["dtype"].(map[string]any); textIn(policy, "class_name") != "DTypePolicyMap" && field(policy, "name") != nil {
		config["dtype"] = field(policy, "name")
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
