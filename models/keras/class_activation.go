package keras

import "strings"

// activations are the layers of package nn for the names of activations. The slope of
// leaky_relu is that of the function; the layer LeakyReLU has another one.
var activations = map[string]any{
	"linear": nil, "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "silu": "silu", "swish": "silu", "gelu": "gelu",
	"elu": "elu", "celu": "elu", "selu": "selu", "softplus": "softplus", "softsign": "softsign", "exponential": "exponential",
	"mish": "mish", "log_sigmoid": "log_sigmoid", "squareplus": "squareplus", "tanh_shrink": "tanhshrink",
	"hard_shrink": "hardshrink", "soft_shrink": "softshrink",
	"relu6":      map[string]any{"hardtanh": map[string]any{"min": 0, "max": 6}},
	"leaky_relu": map[string]any{"leaky_relu": map[string]any{"negative_slope": 0.2}},
	"hard_tanh":  map[string]any{"hardtanh": map[string]any{"min": -1, "max": 1}},
}

// activation adds the activation that a setting describes: a name, null, or an object of
// Keras 3, of a function or a layer.
func (b *builder) activation(l *settings, part string, setting any, v value) value {
	name := activationName(l, setting)
	if inner, ok := setting.(map[string]any); ok && name == "" {
		class, _ := inner["class_name"].(string)
		config, _ := inner["config"].(map[string]any)
		layer := &Layer{Class: class, Name: l.Name, Config: config}
		modernize(layer)
		return b.activationLayer(l.of(layer), part, v)
	}
	switch name {
	case "softmax":
		return b.alongAxis(l, part, "softmax", -1, v)
	case "log_softmax":
		return b.alongAxis(l, part, name, -1, v)
	case "hard_sigmoid":
		return b.hardSigmoid(l, part, v)
	case "hard_silu", "hard_swish":
		v.node = b.add(l, part+"_times", "mul", v.node, b.hardSigmoid(l, part, v).node)
		return v
	}
	layer, ok := activations[name]
	if !ok {
		l.refuse("activation %s", name)
	}
	if layer != nil {
		v.node = b.add(l, part, layer, v.node)
	}
	return v
}

// hardSigmoid adds a line between 0 and 1: with the slope 1/6 in Keras 3, and 0.2 before.
func (b *builder) hardSigmoid(l *settings, part string, v value) value {
	if b.version == "" {
		l.refuse("hard_sigmoid, whose slope depends on the version of Keras, which the file does not say")
	}
	slope := 0.2
	if !strings.HasPrefix(b.version, "1.") && !strings.HasPrefix(b.version, "2.") {
		slope = 1.0 / 6
	}
	v.node = b.add(l, part+"_line", map[string]any{"rescale": map[string]any{"scale": slope, "offset": 0.5}}, v.node)
	v.node = b.add(l, part, map[string]any{"hardtanh": map[string]any{"min": 0, "max": 1}}, v.node)
	return v
}

// activationName returns the name of a function, or "" for a layer.
func activationName(l *settings, setting any) string {
	switch a := setting.(type) {
	case nil:
		return "linear"
	case string:
		return a
	case map[string]any:
		if name, ok := a["config"].(string); ok { // a function: its name is config
			return name
		}
		if _, ok := a["config"].(map[string]any); ok {
			return ""
		}
	}
	l.invalid("activation %.40v", setting)
	return "linear"
}

// activationLayer adds the node of a layer that is an activation.
func (b *builder) activationLayer(l *settings, part string, v value) value {
	switch l.Class {
	case "ReLU":
		v.node = b.add(l, part, relu(l), v.node)
	case "LeakyReLU":
		v.node = b.add(l, part, map[string]any{"leaky_relu": map[string]any{"negative_slope": l.Float("negative_slope", 0.3)}}, v.node)
	case "ELU":
		v.node = b.add(l, part, map[string]any{"elu": map[string]any{"alpha": l.Float("alpha", 1)}}, v.node)
	case "ThresholdedReLU":
		v.node = b.add(l, part, map[string]any{"threshold": map[string]any{"threshold": l.Float("theta", 1)}}, v.node)
	case "Softmax":
		axes := append(l.Ints("axis"), -1)
		if len(axes) > 2 {
			l.refuse("softmax over several axes, %v", axes[:len(axes)-1])
		}
		return b.alongAxis(l, part, "softmax", axes[0], v)
	default:
		l.refuse("activation by the layer %s", l.Class)
	}
	return v
}

// alongAxis adds the named layer, such as softmax, along an axis of Keras.
func (b *builder) alongAxis(l *settings, part, name string, axis int, v value) value {
	rank := len(v.shape) + 1
	if axis < 0 {
		axis += rank
	}
	if axis < 1 || axis >= rank {
		l.invalid("%s along axis %d of %v", name, axis, v.shape)
		return v
	}
	if v.first {
		axis = axis%(rank-1) + 1 // the last is the first of the sample
	}
	v.node = b.add(l, part, map[string]any{name: map[string]any{"axis": axis}}, v.node)
	return v
}

// relu returns the layer of a ReLU with a slope, or a limit.
func relu(l *settings) any {
	slope, threshold, limit := l.Float("negative_slope", 0), l.Float("threshold", 0), l.Float("max_value", 0)
	switch limited := l.Config["max_value"] != nil; {
	case threshold != 0 && (limited || slope != 0):
		l.refuse("a ReLU with threshold %v, max_value %v and negative_slope %v", threshold, l.Config["max_value"], slope)
	case threshold != 0:
		return map[string]any{"threshold": map[string]any{"threshold": threshold}}
	case limited && (slope != 0 || limit <= 0):
		l.refuse("a ReLU with max_value %v and negative_slope %v", limit, slope)
	case limited:
		return map[string]any{"hardtanh": map[string]any{"min": 0, "max": limit}}
	case slope != 0:
		return map[string]any{"leaky_relu": map[string]any{"negative_slope": slope}}
	}
	return "relu"
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

func activationNodes(b *builder, l *settings, in []value) value {
	return b.activationLayer(l, "", in[0])
}

var (
	_ = register(class{nodes: passing, activated: true, kept: true, reverse: activationReversals()}, "Activation")
	_ = register(class{nodes: activationNodes, kept: true, reverse: map[string]reversal{
		"hardtanh": func(r *reverser, l *settings, in []tensor) tensor {
			low, high := l.Float("min", -1), l.Float("max", 1)
			if low != 0 {
				return r.lambda(l, "clip_by_value", map[string]any{"clip_value_min": low, "clip_value_max": high}, in[0])
			}
			return r.layer("ReLU", l.Name, map[string]any{"max_value": high}, in[0])
		},
		"relu6": reversed("ReLU", func(*settings, tensor) map[string]any { return map[string]any{"max_value": 6.0} }),
		"leaky_relu": reversed("LeakyReLU", func(l *settings, _ tensor) map[string]any {
			return map[string]any{"alpha": l.Float("negative_slope", 0.01)}
		}),
		"elu": reversed("ELU", func(l *settings, _ tensor) map[string]any {
			return map[string]any{"alpha": l.Float("alpha", 1)}
		}),
		"softmax": reversed("Softmax", func(l *settings, v tensor) map[string]any {
			return map[string]any{"axis": v.kerasAxis(l.Int("axis", -1))}
		}),
		"log_softmax": reversed("Activation", func(l *settings, v tensor) map[string]any {
			if axis := v.kerasAxis(l.Int("axis", -1)); axis != v.rank {
				l.refuse("axis %d", l.Int("axis", -1))
			}
			return map[string]any{"activation": "log_softmax"}
		}),
	}}, "ReLU", "LeakyReLU", "ELU", "Softmax", "ThresholdedReLU")
)

// namedActivations are the names of activations in Keras by the layers of package nn. Keras 2 has no Identity, and not all of the others.
var namedActivations = map[string]any{
	"relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "silu": "swish", "selu": "selu", "softplus": "softplus", "softsign": "softsign",
	"exponential": "exponential", "identity": "linear", "gelu": "gelu", "mish": "mish", "log_sigmoid": "log_sigmoid", "tanhshrink": "tanh_shrink",
}

// activationReversals returns the reversals of activations that are names in Keras, and of a line between 0 and 1, whose slope as a name differs
// between versions.
func activationReversals() map[string]reversal {
	line := func(r *reverser, l *settings, v tensor, path string) tensor {
		return r.layer("ReLU", path, map[string]any{"max_value": 1.0}, r.layer("Rescaling", "", map[string]any{"scale": 1.0 / 6, "offset": 0.5}, v))
	}
	all := map[string]reversal{
		"hardsigmoid": func(r *reverser, l *settings, in []tensor) tensor { return line(r, l, in[0], l.Name) },
		"hardswish": func(r *reverser, l *settings, in []tensor) tensor {
			return r.layer("Multiply", l.Name, nil, in[0], line(r, l, in[0], ""))
		},
	}
	for layer, name := range namedActivations {
		all[layer] = func(r *reverser, l *settings, in []tensor) tensor {
			if l.Text("approximate", "") == "tanh" {
				return r.lambda(l, "nn.gelu", map[string]any{"approximate": true}, in[0])
			}
			return r.layer("Activation", l.Name, map[string]any{"activation": name}, in...)
		}
	}
	return all
}
