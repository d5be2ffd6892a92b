package keras

import (
	"encoding/json"
	"fmt"
	"maps"
)

// hasArguments reports whether the calls of a layer are objects, as Keras 3 writes them.
func (g graph) hasArguments() bool {
	for _, l := range g.layers {
		nodes, _ := l["inbound_nodes"].([]any)
		for _, node := range nodes {
			if call, ok := node.(map[string]any); ok && call["args"] != nil {
				return true
			}
		}
	}
	return false
}

// restore writes calls as Keras 2 does, which does not read those of rewrite.
func (g graph) restore() {
	for _, l := range g.layers {
		name, _ := l["name"].(string)
		switch class, _ := l["class_name"].(string); {
		case class == "Sequential":
			withoutInput(l)
		case isModel(class):
			g.counts[name] = 1
		}
	}
	for _, l := range g.layers {
		if g.function(l) {
			continue
		}
		class, _ := l["class_name"].(string)
		nodes, _ := l["inbound_nodes"].([]any)
		for i, node := range nodes {
			call, ok := node.(map[string]any)
			if !ok {
				continue
			}
			if args, _ := call["args"].([]any); len(args) == 1 && isNamed(args[0]) {
				nodes[i] = g.namedInputs(args[0].(map[string]any))
			} else {
				nodes[i] = g.inputs(class, call)
			}
		}
	}
}

// isNamed reports whether an argument is an object of tensors by the names of inputs.
func isNamed(arg any) bool {
	o, ok := arg.(map[string]any)
	return ok && o["class_name"] == nil
}

// namedInputs returns a call with inputs by name as Keras 2 writes it.
func (g graph) namedInputs(tensors map[string]any) map[string]any {
	inputs := map[string]any{}
	for name, v := range tensors {
		if ref, ok := g.withRefs(v).([]any); ok {
			inputs[name] = append(ref[:3:3], map[string]any{})
		}
	}
	return inputs
}

// attentionArguments are the names of the arguments of a MultiHeadAttention by position.
var attentionArguments = []string{"query", "value", "key"}

// inputs returns a call as Keras 2 writes it: the tensors by position, each with the named
// arguments.
func (g graph) inputs(class string, call map[string]any) []any {
	args, _ := call["args"].([]any)
	named, _ := call["kwargs"].(map[string]any)
	kwargs := map[string]any{}
	maps.Copy(kwargs, named)
	if class == "MultiHeadAttention" {
		for i := 1; i < len(args) && i < len(attentionArguments); i++ {
			kwargs[attentionArguments[i]] = args[i]
		}
		args = args[:min(len(args), 1)]
	}
	positional := append([]any{}, args...)
	if name := takesSeveral[class]; name != "" {
		positional = append(positional, kwargs[name])
		delete(kwargs, name)
	}
	for name, v := range kwargs {
		kwargs[name] = g.withRefs(v)
	}
	var inputs []any
	eachRef(g.withRefs(positional), func(ref []any) {
		inputs = append(inputs, append(ref[:3:3], kwargs))
	})
	return inputs
}

// withRefs returns an argument with references, [layer, call, output], in place of the objects of
// tensors, and with lists in place of those of arrays.
func (g graph) withRefs(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = g.withRefs(one)
		}
		return list
	case map[string]any:
		if v["class_name"] == "__keras_tensor__" {
			return g.ref(v)
		}
		if config, _ := v["config"].(map[string]any); v["class_name"] == "__numpy__" && config["value"] != nil {
			return config["value"]
		}
		object := map[string]any{}
		for name, one := range v {
			object[name] = g.withRefs(one)
		}
		return object
	}
	return v
}

// ref returns the reference of the object of a tensor. It is the reverse of tensor.
func (g graph) ref(tensor map[string]any) any {
	config, _ := tensor["config"].(map[string]any)
	ref, ok := config["keras_history"].([]any)
	if !ok || !isRef(ref) {
		return tensor
	}
	name, _ := ref[0].(string)
	return []any{name, json.Number(fmt.Sprint(nodeOf(ref) + g.counts[name])), ref[2]}
}
