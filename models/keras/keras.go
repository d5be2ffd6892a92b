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
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return nil, fmt.Errorf("model configuration: %w (%w)", err, ErrConfig)
	}
	p := parser{}
	m, err := p.model(o, 0)
	if err != nil {
		return nil, fmt.Errorf("model configuration: %w", err)
	}
	m.Version = o.version(text)
	inferShapes(m)
	return m, nil
}

// version returns the version of Keras that wrote a description: model.to_json() says it in
// Keras 2, and Keras 3 has a module of Functional that others lack, and shapes of inputs under
// another name. It returns "" if neither is there.
func (o object) version(text string) string {
	switch {
	case o.Keras != "":
		return o.Keras
	case o.Module != nil && *o.Module == "keras.src.engine.functional":
		return "2.15.0"
	case o.Module != nil && *o.Module == "keras.src.models.functional", strings.Contains(text, `"batch_shape"`):
		return "3.0.0"
	}
	return ""
}

// An object is a serialized layer or model.
type object struct {
	Module     *string         `json:"module"`
	Class      string          `json:"class_name"`
	Config     json.RawMessage `json:"config"`
	Registered *string         `json:"registered_name"`
	Name       string          `json:"name"` // beside config, in functional models
	Inbound    json.RawMessage `json:"inbound_nodes"`
	Build      json.RawMessage `json:"build_config"`
	Keras      string          `json:"keras_version"` // of model.to_json() in Keras 2
}

// class returns the name of the class, with its package if it is not one of Keras's own:
// a layer that somebody else called Dense is not Keras's Dense. Operations of Keras 3 on tensors,
// such as x*2, have classes of the names of layers: Multiply of keras.src.ops.numpy. An .h5 leaves
// out the module; only the arguments tell them there.
func (o object) class() string {
	if o.Module != nil && strings.HasPrefix(strings.Replace(*o.Module, "keras.src.", "keras.", 1), "keras.ops") {
		return "ops." + o.Class
	}
	if o.Module == nil && o.isOperation() {
		return "ops." + o.Class
	}
	if o.Registered == nil || !strings.Contains(*o.Registered, ">") || o.Module != nil && strings.HasPrefix(*o.Module, "keras") {
		return o.Class
	}
	return *o.Registered
}

// modelConfig is the configuration of a Sequential or functional model.
type modelConfig struct {
	Name       string          `json:"name"`
	Layers     []object        `json:"layers"`
	Inputs     json.RawMessage `json:"input_layers"`
	Outputs    json.RawMessage `json:"output_layers"`
	BuildShape []*int          `json:"build_input_shape"`
}

// A parser counts layers over all nested models.
type parser struct{ layers int }

// isModel reports whether a class is a model whose layers are listed.
func isModel(class string) bool {
	return class == "Sequential" || class == "Functional" || class == "Model"
}

func (p *parser) model(o object, depth int) (*Model, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("models nested deeper than %d: %w", maxDepth, ErrConfig)
	}
	if o.Class == "" {
		return nil, fmt.Errorf("the model has no class: %w", ErrConfig)
	}
	if !isModel(o.class()) {
		return nil, fmt.Errorf("class %q is not a Sequential or functional model; %w", o.class(), ErrProgram)
	}
	var c modelConfig
	if err := json.Unmarshal(o.Config, &c.Layers); err != nil { // not Keras 1, where config is the list of layers
		c = modelConfig{}
		if err := json.Unmarshal(o.Config, &c); err != nil {
			return nil, fmt.Errorf("%s: %w (%w)", o.Class, err, ErrConfig)
		}
	}
	m := &Model{Class: "Functional", Name: c.Name}
	if o.class() == "Sequential" {
		m.Class = "Sequential"
	}
	if m.Name == "" {
		m.Name = strings.ToLower(m.Class)
	}
	seen := map[string]bool{}
	for i, one := range c.Layers {
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
		return m, chain(m, c.BuildShape)
	}
	return m, connect(m, c)
}

// layer reads a layer, and the layers of one that is itself a model.
func (p *parser) layer(o object, depth int) (*Layer, error) {
	l := &Layer{Class: o.class(), Name: o.Name}
	if isModel(l.Class) {
		m, err := p.model(o, depth+1)
		if err != nil {
			return nil, err
		}
		l.Model = m
		l.Name = firstNonEmpty(l.Name, m.Name)
	}
	if l.Model == nil || len(o.Config) > 0 && o.Config[0] == '{' {
		if err := json.Unmarshal(o.Config, &l.Config); err != nil {
			return nil, fmt.Errorf("%s: %w (%w)", o.Class, err, ErrConfig)
		}
	}
	if l.Model != nil {
		delete(l.Config, "layers") // they are in l.Model
	}
	if name, ok := l.Config["name"].(string); ok && l.Name == "" {
		l.Name = name
	}
	if l.Name == "" || strings.Contains(l.Name, "\x00") {
		return nil, fmt.Errorf("a %s has the name %q: %w", o.Class, l.Name, ErrConfig)
	}
	var build struct {
		Shape json.RawMessage `json:"input_shape"`
	}
	if json.Unmarshal(o.Build, &build) == nil {
		l.InputShapes = shapesOf(build.Shape)
	}
	if l.InputShapes == nil {
		l.InputShapes = inboundShapes(o.Inbound) // of an .h5, which has no build_config
	}
	modernize(l)
	l.Training = o.training()
	return l, nil
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// shapesOf reads a shape with its batch, or a list of them. It returns nil for anything
// else.
func shapesOf(text json.RawMessage) [][]int {
	var one []*int
	if len(text) == 0 || json.Unmarshal(text, &one) == nil {
		return nonEmpty(one)
	}
	var several [][]*int
	if json.Unmarshal(text, &several) != nil {
		return nil
	}
	var all [][]int
	for _, s := range several {
		all = append(all, nonEmpty(s)...)
	}
	return all
}

// nonEmpty returns the shape without the batch, as a list of one.
func nonEmpty(shape []*int) [][]int {
	if len(shape) == 0 {
		return nil
	}
	return [][]int{sizes(shape[1:])}
}

// sizes returns a shape with -1 for sizes that are unknown.
func sizes(shape []*int) []int {
	list := make([]int, len(shape))
	for i, n := range shape {
		if list[i] = -1; n != nil {
			list[i] = *n
		}
	}
	return list
}
