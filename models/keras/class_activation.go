package keras

import (
	"fmt"
	"strings"
)

// activations are the layers of package nn for the names of activations. The slope of
// leaky_relu is that of the function; the layer LeakyReLU has another one.
var activations = map[string]any{
	"linear": nil, "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "silu": "silu", "swish": "silu", "gelu": "gelu",
	"elu": "elu", "celu": "elu", "selu": "selu", "softplus": "softplus", "softsign": "softsign", "exponential": "exponential",
	"relu6":      map[string]any{"hardtanh": map[string]any{"min": 0, "max": 6}},
	"leaky_relu": map[string]any{"leaky_relu": map[string]any{"negative_slope": 0.2}},
	"hard_tanh":  map[string]any{"hardtanh": map[string]any{"min": -1, "max": 1}},
}

// activation adds the activation that a setting describes: a name, null, or an object of
// Keras 3, of a function or a layer.
func (b *builder) activation(u use, part string, setting any, v value) (value, error) {
	name, err := activationName(setting)
	if err != nil {
		return v, err
	}
	if inner, ok := setting.(map[string]any); ok && name == "" {
		class, _ := inner["class_name"].(string)
		config, _ := inner["config"].(map[string]any)
		l := &Layer{Class: class, Name: u.Name, Config: config}
		modernize(l)
		return b.activationLayer(use{l, u.path}, part, v)
	}
	if name == "softmax" {
		return b.softmax(u, part, -1, v)
	}
	switch name {
	case "hard_sigmoid":
		return b.hardSigmoid(u, part, v)
	case "hard_silu", "hard_swish":
		gate, err := b.hardSigmoid(u, part, v)
		v.node = b.add(u, part+"_times", "mul", v.node, gate.node)
		return v, err
	case "mish": // x·tanh(softplus(x))
		soft := b.add(u, part+"_softplus", "softplus", v.node)
		v.node = b.add(u, part, "mul", v.node, b.add(u, part+"_tanh", "tanh", soft))
		return v, nil
	}
	layer, ok := activations[name]
	if !ok {
		return v, unsupported("activation %s", name)
	}
	if layer != nil {
		v.node = b.add(u, part, layer, v.node)
	}
	return v, nil
}

// hardSigmoid adds a line between 0 and 1: with the slope 1/6 in Keras 3, and 0.2 before.
func (b *builder) hardSigmoid(u use, part string, v value) (value, error) {
	if b.version == "" {
		return v, unsupported("hard_sigmoid, whose slope depends on the version of Keras, which the file does not say")
	}
	slope := 0.2
	if !strings.HasPrefix(b.version, "1.") && !strings.HasPrefix(b.version, "2.") {
		slope = 1.0 / 6
	}
	v.node = b.add(u, part+"_line", map[string]any{"rescale": map[string]any{"scale": slope, "offset": 0.5}}, v.node)
	v.node = b.add(u, part, map[string]any{"hardtanh": map[string]any{"min": 0, "max": 1}}, v.node)
	return v, nil
}

// activationName returns the name of a function, or "" for a layer.
func activationName(setting any) (string, error) {
	switch a := setting.(type) {
	case nil:
		return "linear", nil
	case string:
		return a, nil
	case map[string]any:
		if name, ok := a["config"].(string); ok { // a function: its name is config
			return name, nil
		}
		if _, ok := a["config"].(map[string]any); ok {
			return "", nil
		}
	}
	return "", fmt.Errorf("activation %.40v: %w", setting, ErrConfig)
}

// activationLayer adds the node of a layer that is an activation.
func (b *builder) activationLayer(u use, part string, v value) (value, error) {
	switch u.Class {
	case "ReLU":
		return b.relu(u, part, v)
	case "LeakyReLU":
		slope, err := u.Float("negative_slope", 0.3)
		v.node = b.add(u, part, map[string]any{"leaky_relu": map[string]any{"negative_slope": slope}}, v.node)
		return v, err
	case "ELU":
		alpha, err := u.Float("alpha", 1)
		v.node = b.add(u, part, map[string]any{"elu": map[string]any{"alpha": alpha}}, v.node)
		return v, err
	case "Softmax":
		axes, err := u.Ints("axis")
		if len(axes) > 1 {
			return v, unsupported("softmax over several axes, %v", axes)
		}
		axis := -1
		if len(axes) == 1 {
			axis = axes[0]
		}
		if err != nil {
			return v, err
		}
		return b.softmax(u, part, axis, v)
	}
	return v, unsupported("activation by the layer %s", u.Class)
}

// softmax adds a softmax along an axis of Keras.
func (b *builder) softmax(u use, part string, axis int, v value) (value, error) {
	rank := len(v.shape) + 1
	if axis < 0 {
		axis += rank
	}
	if axis < 1 || axis >= rank {
		return v, fmt.Errorf("softmax along axis %d of %v: %w", axis, v.shape, ErrConfig)
	}
	if v.first {
		axis = axis%(rank-1) + 1 // the last is the first of the sample
	}
	v.node = b.add(u, part, map[string]any{"softmax": map[string]any{"axis": axis}}, v.node)
	return v, nil
}

// relu adds a ReLU with a slope, or a limit.
func (b *builder) relu(u use, part string, v value) (value, error) {
	slope, err1 := u.Float("negative_slope", 0)
	threshold, err2 := u.Float("threshold", 0)
	limit, err3 := u.Float("max_value", 0)
	if err := first(err1, err2, err3); err != nil {
		return v, err
	}
	var layer any = "relu"
	switch limited := u.Config["max_value"] != nil; {
	case threshold != 0:
		return v, unsupported("a ReLU with threshold %v", threshold)
	case limited && (slope != 0 || limit <= 0):
		return v, unsupported("a ReLU with max_value %v and negative_slope %v", limit, slope)
	case limited:
		layer = map[string]any{"hardtanh": map[string]any{"min": 0, "max": limit}}
	case slope != 0:
		layer = map[string]any{"leaky_relu": map[string]any{"negative_slope": slope}}
	}
	v.node = b.add(u, part, layer, v.node)
	return v, nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func activationNodes(b *builder, u use, in []value) (value, error) {
	return b.activationLayer(u, "", in[0])
}

var (
	_ = register(class{nodes: passing, activated: true, kept: true}, "Activation")
	_ = register(class{nodes: activationNodes, kept: true}, "ReLU", "LeakyReLU", "ELU", "Softmax")
	_ = register(class{kept: true}, "ThresholdedReLU")
)
