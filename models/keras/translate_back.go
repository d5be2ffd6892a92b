package keras

import (
	"encoding/json"
	"fmt"
	"maps"
)

// restore writes calls as Keras 2 does, which does not read those of rewrite.
func (g graph) restore() {
	for _, l := range g.layers {
		switch class := textIn(l, "class_name"); {
		case class == "Sequential":
			withoutInput(l)
		case isModel(class):
			g.counts[textIn(l, "name")] = 1
		}
	}
	for _, l := range g.layers {
		if g.function(l) {
			continue
		}
		nodes := nodesIn(l)
		for i, node := range nodes {
			call, ok := node.(map[string]any)
			if !ok {
				continue
			}
			if args, _ := call["args"].([]any); len(args) == 1 && isNamed(args[0]) {
				nodes[i] = g.namedInputs(args[0].(map[string]any))
			} else {
				nodes[i] = g.callOfKeras2(textIn(l, "class_name"), call)
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

// callOfKeras2 returns a call as Keras 2 writes it: the tensors by position, each with the named
// arguments.
func (g graph) callOfKeras2(class string, call map[string]any) []any {
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
	return rewritten(v, func(v any) (any, bool) {
		o, _ := v.(map[string]any)
		switch value := field(o, "value"); {
		case o["class_name"] == tensorClass:
			return g.ref(o), true
		case o["class_name"] == "__numpy__" && value != nil:
			return value, true
		}
		return nil, false
	})
}

// ref returns the reference of the object of a tensor. It is the reverse of tensor.
func (g graph) ref(tensor map[string]any) any {
	ref, _ := field(tensor, "keras_history").([]any)
	if !isRef(ref) {
		return tensor
	}
	name := ref[0].(string)
	return []any{name, json.Number(fmt.Sprint(nodeOf(ref) + g.counts[name])), ref[2]}
}
