package keras

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// graph translates the calls of the layers of a functional model. In Keras 2, call 0 of a
// model within the model is the one by which it was defined. In Keras 3 it is so for
// functional models, but only in output_layers.
func (t translator) graph(config map[string]any, layers []map[string]any) {
	g := graph{config: config, layers: layers, counts: map[string]int{}}
	if !t.current && slices.ContainsFunc(layers, isOfKeras3) {
		g.restore()
		return
	}
	last, shifted := g.lastCalls(), map[string]bool{}
	for _, l := range layers {
		name, class := textIn(l, "name"), textIn(l, "class_name")
		if !isModel(class) {
			continue
		}
		if class == "Sequential" && !t.current {
			withoutInput(l)
		}
		switch fromOne := last[name] == len(nodesIn(l)); {
		case fromOne && class == "Sequential":
			shifted[name] = true
		case fromOne:
			g.counts[name] = 1
		}
	}
	g.shift(g.each, shifted)
	if t.current {
		g.rewrite(len(g.counts) > 0)
	}
}

// A graph is the layers of a functional model, and their calls.
type graph struct {
	config map[string]any
	layers []map[string]any
	counts map[string]int // 1 for functional models whose calls are counted from 1
}

// isOfKeras3 reports whether a layer has calls that are objects of arguments.
func isOfKeras3(o map[string]any) bool { return len(callsOfKeras3(o)) > 0 }

// each calls visit with every reference to an output of a layer.
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

// lastCalls returns the last call of each layer whose output is taken.
func (g graph) lastCalls() map[string]int {
	last := map[string]int{}
	g.each(func(ref []any) { last[ref[0].(string)] = max(last[ref[0].(string)], nodeOf(ref)) })
	return last
}

// shift counts the calls of the named layers from 0, in some of the references.
func (g graph) shift(each func(visit func(ref []any)), names map[string]bool) {
	each(func(ref []any) {
		if names[ref[0].(string)] {
			ref[1] = json.Number(fmt.Sprint(nodeOf(ref) - 1))
		}
	})
}

// countFromZero makes references to calls of models within the model count from 0, as graph has them.
func (g graph) countFromZero() {
	last, shifted, current := g.lastCalls(), map[string]bool{}, slices.ContainsFunc(g.layers, isOfKeras3)
	for _, l := range g.layers {
		name, class := nameOf(l), textIn(l, "class_name")
		shifted[name] = isModel(class) && (current && class != "Sequential" || !current && last[name] == len(nodesIn(l)))
	}
	if current {
		g.shift(g.eachOutput, shifted)
	} else {
		g.shift(g.each, shifted)
	}
}

// withoutInput takes the InputLayer from a Sequential: both versions of Keras count the calls
// of one without it from 0. Keras 3 alone does so with it.
func withoutInput(l map[string]any) {
	config := configIn(l)
	if layers := objectsIn(config["layers"]); len(layers) > 1 && layers[0]["class_name"] == "InputLayer" {
		config["layers"] = config["layers"].([]any)[1:]
	}
	delete(config, "build_input_shape")
}

// rewrite writes calls as Keras 3 does, which Keras 2 does not read: all of them, or those
// with tensors among their named arguments, and with the states of a recurrent layer.
func (g graph) rewrite(all bool) {
	for _, l := range g.layers {
		class := textIn(l, "class_name")
		if class == "TFOpLambda" || class == "SlicingOpLambda" {
			g.operation(l)
		}
		nodes := nodesIn(l)
		for i, node := range nodes {
			if named, ok := node.(map[string]any); ok && isNamedCall(named) {
				nodes[i] = map[string]any{"args": []any{g.tensors(named)}, "kwargs": map[string]any{}}
			}
			tensors, named, ok := g.inputs(node)
			if ok && len(tensors) > 0 && (all || hasRefs(named) || takesSeveral[class] != "" && len(tensors) > 1) {
				nodes[i] = g.call(class, tensors, named)
			}
		}
	}
}

// isNamedCall reports whether a call is an object of tensors by the names of inputs, as in Keras 2.
func isNamedCall(node map[string]any) bool {
	for _, v := range node {
		if ref, ok := v.([]any); !ok || !isRef(ref) {
			return false
		}
	}
	return len(node) > 0
}

// takesSeveral has the names of the arguments of layers whose further inputs are arguments of
// their own in Keras 3.
var takesSeveral = map[string]string{"LSTM": "initial_state", "GRU": "initial_state", "SimpleRNN": "initial_state", "RNN": "initial_state", "ConvLSTM2D": "initial_state", "Bidirectional": "initial_state"}

// inputs returns the tensors of a call of Keras 2, or numbers in place of them, and the arguments that have names. It reports
// whether there is nothing else.
func (g graph) inputs(node any) (tensors []any, named map[string]any, ok bool) {
	inputs, _ := node.([]any)
	if isRef(inputs) || isConstant(inputs) {
		inputs = []any{inputs} // a single one
	}
	named = map[string]any{}
	for _, one := range inputs {
		ref, _ := one.([]any)
		switch {
		case isConstant(ref):
			tensors = append(tensors, g.operand("", ref[2]))
		case isRef(ref):
			tensors = append(tensors, g.tensor(ref))
		default:
			return nil, nil, false
		}
		if len(ref) == 4 {
			more, _ := ref[3].(map[string]any)
			maps.Copy(named, more)
		}
	}
	return tensors, named, true
}

// isConstant reports whether v is a number or an array, and the arguments, where a call of Keras 2
// has a tensor.
func isConstant(v []any) bool { return len(v) >= 3 && v[0] == constantValue }

// call returns a call as Keras 3 writes it: the tensors among args and kwargs are objects.
func (g graph) call(class string, tensors []any, named map[string]any) map[string]any {
	kwargs := map[string]any{}
	for name, v := range named {
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
	return rewritten(v, func(v any) (any, bool) {
		if ref, _ := v.([]any); isRef(ref) {
			return g.tensor(ref), true
		}
		return nil, false
	})
}

// tensor returns the object for a reference. Keras finds its shape in the graph.
func (g graph) tensor(ref []any) map[string]any {
	name := ref[0].(string)
	node := json.Number(fmt.Sprint(nodeOf(ref) - g.counts[name]))
	return map[string]any{"class_name": tensorClass, "config": map[string]any{
		"shape": []any{nil}, "dtype": "float32", "keras_history": []any{name, node, ref[2]},
	}}
}
