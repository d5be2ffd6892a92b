// Package keras reads and writes Keras's descriptions of models: the layers and their
// settings, how they are connected, the variables of each and the shapes of what they
// compute. It translates them to models of package nn and back.
//
// It knows the terms of Keras 1, 2 and 3. Files belong to package serialize/kerasfile. It
// executes nothing: functions and layers that a file defines itself are refused by name.
package keras

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// ErrConfig is the kind of error, for errors.Is, of a description that is not Keras's or
// that cannot be translated.
var ErrConfig = errors.New("keras configuration")

// ErrProgram is the kind of error, for errors.Is, of the description of a model of a class of the
// user's own. It is also of kind ErrConfig.
var ErrProgram = fmt.Errorf("its layers are defined by a program that the file does not hold: %w", ErrConfig)

// Limits of what Parse reads.
const (
	maxConfig = 100 << 20 // bytes
	maxLayers = 1 << 17
	maxDepth  = 32 // models within models
)

// Parse returns the model that the text of a model_config attribute or of config.json
// describes. It has no weights.
func Parse(text string) (*Model, error) {
	if len(text) > maxConfig {
		return nil, fmt.Errorf("model configuration of %d bytes; at most %d are read: %w", len(text), maxConfig, ErrConfig)
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return nil, fmt.Errorf("model configuration: %w (%w)", err, ErrConfig)
	}
	p := parser{}
	m, err := p.model(o, 0)
	if err != nil {
		return nil, fmt.Errorf("model configuration: %w", err)
	}
	m.Version = versionOf(o, text)
	inferShapes(m)
	return m, nil
}

// versionOf returns the version of Keras that wrote a description: model.to_json() says it in
// Keras 2, and Keras 3 has a module of Functional that others lack, and shapes of inputs under
// another name. It returns "" if neither is there.
func versionOf(o map[string]any, text string) string {
	switch module := textIn(o, "module"); {
	case textIn(o, "keras_version") != "":
		return textIn(o, "keras_version")
	case module == "keras.src.engine.functional":
		return "2.15.0"
	case module == "keras.src.models.functional", strings.Contains(text, `"batch_shape"`):
		return "3.0.0"
	}
	return ""
}

// textIn returns a text of an object: of a serialized layer or model, or of its configuration.
func textIn(o map[string]any, name string) string {
	text, _ := o[name].(string)
	return text
}

// configIn returns the configuration of an object.
func configIn(o map[string]any) map[string]any {
	config, _ := o["config"].(map[string]any)
	return config
}

// field returns a field of the configuration of an object.
func field(o map[string]any, name string) any { return configIn(o)[name] }

// nodesIn returns the calls of a layer.
func nodesIn(o map[string]any) []any {
	nodes, _ := o["inbound_nodes"].([]any)
	return nodes
}

// nameOf returns the name of a layer, which functional models have beside its settings, too.
func nameOf(o map[string]any) string {
	if name := textIn(o, "name"); name != "" {
		return name
	}
	return textIn(configIn(o), "name")
}

// classIn returns the name of the class, with its package if it is not one of Keras's own:
// a layer that somebody else called Dense is not Keras's Dense. Operations of Keras 3 on tensors,
// such as x*2, have classes of the names of layers: Multiply of keras.src.ops.numpy. An .h5 leaves
// out the module; only the arguments tell them there.
func classIn(o map[string]any) string {
	class, module, registered := textIn(o, "class_name"), textIn(o, "module"), textIn(o, "registered_name")
	switch {
	case strings.HasPrefix(strings.Replace(module, "keras.src.", "keras.", 1), "keras.ops"), o["module"] == nil && isOperation(o):
		return "ops." + class
	case !strings.Contains(registered, ">") || strings.HasPrefix(module, "keras"):
		return class
	}
	return registered
}

// A parser counts layers over all nested models.
type parser struct{ layers int }

// isModel reports whether a class is a model whose layers are listed.
func isModel(class string) bool {
	return class == "Sequential" || class == "Functional" || class == "Model"
}

func (p *parser) model(o map[string]any, depth int) (*Model, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("models nested deeper than %d: %w", maxDepth, ErrConfig)
	}
	if textIn(o, "class_name") == "" {
		return nil, fmt.Errorf("the model has no class: %w", ErrConfig)
	}
	class, config := classIn(o), configIn(o)
	if !isModel(class) {
		return nil, fmt.Errorf("class %q is not a Sequential or functional model; %w", class, ErrProgram)
	}
	list, ok := o["config"].([]any) // of Keras 1, where config is the list of layers
	if !ok {
		list, _ = config["layers"].([]any)
	}
	m := &Model{Class: "Functional", Name: textIn(config, "name")}
	if class == "Sequential" {
		m.Class = class
	}
	if m.Name == "" {
		m.Name = strings.ToLower(m.Class)
	}
	layers, seen := objectsIn(list), map[string]bool{}
	if len(layers) < len(list) {
		return nil, fmt.Errorf("%s has a layer that is no object: %w", m.Name, ErrConfig)
	}
	for i, one := range layers {
		if p.layers++; p.layers > maxLayers {
			return nil, fmt.Errorf("more than %d layers: %w", maxLayers, ErrConfig)
		}
		l, err := p.layer(one, depth)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		if seen[l.Name] {
			return nil, fmt.Errorf("two layers are named %q: %w", l.Name, ErrConfig)
		}
		seen[l.Name] = true
		m.Layers = append(m.Layers, *l)
	}
	if m.Class == "Sequential" {
		return m, chain(m, config["build_input_shape"])
	}
	return m, connect(m, graph{config: config, layers: layers})
}

// layer reads a layer, and the layers of one that is itself a model.
func (p *parser) layer(o map[string]any, depth int) (*Layer, error) {
	l := &Layer{Class: classIn(o), Name: nameOf(o), Config: maps.Clone(configIn(o))}
	if isModel(l.Class) {
		m, err := p.model(o, depth+1)
		if err != nil {
			return nil, err
		}
		l.Model = m
		delete(l.Config, "layers") // they are in l.Model
		if l.Name == "" {
			l.Name = m.Name
		}
	}
	if l.Name == "" || strings.Contains(l.Name, "\x00") {
		return nil, fmt.Errorf("a %s has the name %q: %w", l.Class, l.Name, ErrConfig)
	}
	build, _ := o["build_config"].(map[string]any)
	if l.InputShapes = shapesOf(build["input_shape"]); l.InputShapes == nil {
		l.InputShapes = inboundShapes(o) // of an .h5, which has no build_config
	}
	modernize(l)
	l.Training = isTraining(o)
	return l, nil
}

// shapesOf reads a shape with its batch, or a list of them, with -1 for sizes that are unknown. It returns nil for
// anything else.
func shapesOf(v any) (all [][]int) {
	list, _ := v.([]any)
	var shape []int
	for _, one := range list {
		n, ok := integer(one)
		switch {
		case ok:
			shape = append(shape, n)
		case one == nil:
			shape = append(shape, -1)
		default:
			all = append(all, shapesOf(one)...)
		}
	}
	if len(shape) > 0 && len(shape) == len(list) {
		return [][]int{shape[1:]}
	}
	return all
}
