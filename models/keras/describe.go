package keras

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Describe returns the configuration of m as text, which Keras 2 and 3 read. Parse reads
// it, too.
func Describe(m *Model) (string, error) {
	o, err := describedModel(m)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("model configuration: %w", err)
	}
	return string(text), nil
}

func describedModel(m *Model) (map[string]any, error) {
	var layers []any
	for i := range m.Layers {
		l := &m.Layers[i]
		one := map[string]any{"class_name": l.Class, "config": configOf(l)}
		if l.Model != nil {
			inner, err := describedModel(l.Model)
			if err != nil {
				return nil, err
			}
			one = inner
		}
		if m.Class != "Sequential" {
			calls, err := inbound(l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			one["name"], one["inbound_nodes"] = l.Name, calls
			args, ok := l.Config[operands]
			if ok && (strings.HasPrefix(l.Class, "ops.") || classes[l.Class].several) { // an operation, which Keras 3 alone has; others have become layers
				class := strings.TrimPrefix(l.Class, "ops.")
				one["module"], one["class_name"], one["registered_name"] = "keras.src.ops", class, class
				one["inbound_nodes"] = []any{map[string]any{"args": args, "kwargs": map[string]any{}}}
			}
		}
		layers = append(layers, one)
	}
	config := map[string]any{"name": m.Name, "layers": layers}
	if m.Class != "Sequential" {
		config["input_layers"], config["output_layers"] = refList(m.Inputs), refList(m.Outputs)
	}
	return map[string]any{"class_name": m.Class, "config": config}, nil
}

// configOf returns the settings of a layer. Keras 3 reads the shape of an input and the slope
// of a LeakyReLU under their old names, too.
func configOf(l *Layer) map[string]any {
	config := maps.Clone(l.Config)
	if config == nil {
		config = map[string]any{}
	}
	config["name"] = l.Name
	delete(config, callArguments)
	delete(config, operands)
	if shape, ok := config["batch_shape"]; ok && l.Class == "InputLayer" {
		delete(config, "batch_shape")
		config["batch_input_shape"] = shape
	}
	if slope, ok := config["negative_slope"]; ok && l.Class == "LeakyReLU" {
		delete(config, "negative_slope")
		config["alpha"] = slope
	}
	return config
}

// callArguments is the setting that the arguments by name of all calls of a function are kept as.
const callArguments = "arguments of the call"

// inbound returns the inputs of each call, of which only an InputLayer has none.
func inbound(l *Layer) ([]any, error) {
	calls := []any{}
	for k, call := range l.Calls {
		var named Arguments
		if k < len(l.Arguments) {
			named = l.Arguments[k]
		}
		arguments := map[string]any{}
		if given, ok := l.Config[callArguments].(map[string]any); ok {
			maps.Copy(arguments, given)
		}
		for _, flag := range named.Flags {
			arguments[flag] = true
		}
		var positional []Ref
		for i, ref := range call {
			if i < len(named.Inputs) && named.Inputs[i] != "" {
				arguments[named.Inputs[i]] = ref.plain()
			} else {
				positional = append(positional, ref)
			}
		}
		switch {
		case len(positional) > 0:
			calls = append(calls, refList(positional, arguments))
		case l.Class != "InputLayer":
			return nil, fmt.Errorf("call %d of layer %q takes no tensor: %w", k, l.Name, ErrConfig)
		}
	}
	return calls, nil
}

// plain returns a reference as Keras 2 has it.
func (r Ref) plain() []any { return []any{r.Layer, r.Node, r.Tensor} }

// refList returns references as Keras 2 has them, each with the arguments by name in a call.
func refList(refs []Ref, arguments ...any) []any {
	list := make([]any, len(refs))
	for i, r := range refs {
		list[i] = append(r.plain(), arguments...)
	}
	return list
}
