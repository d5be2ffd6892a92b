package keras

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// chain connects the layers of a Sequential, behind an InputLayer, which is added if the
// model has none.
func chain(m *Model, built []*int) error {
	if len(m.Layers) == 0 {
		return fmt.Errorf("%s has no layers: %w", m.Name, ErrConfig)
	}
	if m.Layers[0].Class != "InputLayer" {
		m.Layers = slices.Insert(m.Layers, 0, inputFor(m, built))
	}
	for i := range m.Layers {
		l := &m.Layers[i]
		if i == 0 {
			l.Calls = [][]Ref{nil}
			continue
		}
		if l.Class == "InputLayer" {
			return fmt.Errorf("%s: an InputLayer, %s, behind other layers: %w", m.Name, l.Name, ErrConfig)
		}
		l.Calls = [][]Ref{{{Layer: m.Layers[i-1].Name}}}
	}
	m.Inputs = []Ref{{Layer: m.Layers[0].Name}}
	m.Outputs = []Ref{{Layer: m.Layers[len(m.Layers)-1].Name}}
	return nil
}

// inputFor returns the InputLayer that the first layer of a Sequential implies.
func inputFor(m *Model, built []*int) Layer {
	first := m.Layers[0]
	config := map[string]any{}
	for _, name := range []string{"batch_shape", "batch_input_shape"} {
		if shape, ok := first.Config[name].([]any); ok {
			config["batch_shape"] = shape
		}
	}
	if len(config) == 0 && len(built) > 0 {
		shape := make([]any, len(built))
		for i, n := range built {
			if n != nil {
				shape[i] = float64(*n)
			}
		}
		config["batch_shape"] = shape
	}
	name := first.Name + "_input"
	for m.Layer(name) != nil {
		name += "_"
	}
	config["name"] = name
	return Layer{Class: "InputLayer", Name: name, Config: config}
}

// connect reads the calls of the layers of a functional model.
func connect(m *Model, c modelConfig) (err error) {
	for i, o := range c.Layers {
		if m.Layers[i].Calls, err = callsOf(o.Inbound); err != nil {
			return fmt.Errorf("%s: %w", m.Layers[i].Name, err)
		}
	}
	if m.Inputs, err = refsIn(c.Inputs); err == nil {
		m.Outputs, err = refsIn(c.Outputs)
	}
	if err != nil {
		return err
	}
	if len(m.Inputs) == 0 || len(m.Outputs) == 0 {
		return fmt.Errorf("%s has no inputs or no outputs: %w", m.Name, ErrConfig)
	}
	renumber(m, slices.ContainsFunc(c.Layers, object.hasArguments))
	return checkRefs(m)
}

// hasArguments reports whether the calls of a layer are objects, as in Keras 3.
func (o object) hasArguments() bool {
	var nodes []json.RawMessage
	return json.Unmarshal(o.Inbound, &nodes) == nil && slices.ContainsFunc(nodes, func(node json.RawMessage) bool {
		var call struct{ Args json.RawMessage }
		return json.Unmarshal(node, &call) == nil && call.Args != nil // Keras 2 has objects of inputs by name
	})
}

// arguments are those of a call in Keras 3.
type arguments struct {
	Args   []any          `json:"args"`
	Kwargs map[string]any `json:"kwargs"`
}

// isOperation reports whether a call has arguments that layers do not take: numbers by
// position, or several tensors by position where a layer takes a list. A Reshape is one if it
// lacks the setting of the layer.
func (o object) isOperation() bool {
	if !o.hasArguments() {
		return false
	}
	if o.Class == "Reshape" && !bytes.Contains(o.Config, []byte(`"target_shape"`)) {
		return true
	}
	var calls []arguments
	json.Unmarshal(o.Inbound, &calls)
	merges := classes[o.Class].several && o.Class != "MultiHeadAttention"
	return slices.ContainsFunc(calls, func(c arguments) bool {
		if len(c.Args) == 0 {
			return false
		}
		_, several := c.Args[0].([]any)
		return merges && !several || slices.ContainsFunc(c.Args, func(v any) bool { return v != nil && len(refsOf(v)) == 0 })
	})
}

// training reports whether a call has the argument training=True. Keras 3 writes it for layers that
// augment data, whose default it is, and predicts without.
func (o object) training() bool {
	var nodes []any
	json.Unmarshal(o.Inbound, &nodes)
	return slices.ContainsFunc(nodes, func(node any) bool {
		if c, ok := node.(map[string]any); ok {
			named, _ := c["kwargs"].(map[string]any)
			return named["training"] == true && !strings.HasPrefix(o.Class, "Random")
		}
		inputs, _ := node.([]any)
		return slices.ContainsFunc(inputs, func(v any) bool {
			if ref, ok := v.([]any); ok && len(ref) == 4 {
				named, _ := ref[3].(map[string]any)
				return named["training"] == true
			}
			return false
		})
	})
}

// refs yields every reference in m, to be changed in place.
func refs(m *Model, visit func(r *Ref)) {
	for i := range m.Layers {
		for _, call := range m.Layers[i].Calls {
			for k := range call {
				visit(&call[k])
			}
		}
	}
	for i := range m.Inputs {
		visit(&m.Inputs[i])
	}
	for i := range m.Outputs {
		visit(&m.Outputs[i])
	}
}

// renumber makes references to calls of nested models count from 0. In Keras 2, call 0
// of a model is the one by which it was defined, which is not among those of the layer. In
// Keras 3 it is so in the outputs only, and for functional models only.
func renumber(m *Model, current bool) {
	last := map[string]int{}
	refs(m, func(r *Ref) { last[r.Layer] = max(last[r.Layer], r.Node) })
	shift := func(r *Ref) {
		l := m.Layer(r.Layer)
		if l != nil && l.Model != nil && (current && l.Model.Class != "Sequential" || !current && last[r.Layer] == len(l.Calls)) {
			r.Node--
		}
	}
	if !current {
		refs(m, shift)
		return
	}
	for i := range m.Outputs {
		shift(&m.Outputs[i])
	}
}

// checkRefs returns an error if a reference leads nowhere.
func checkRefs(m *Model) error {
	at := map[string]int{}
	for i := range m.Layers {
		l := &m.Layers[i]
		if len(l.Calls) == 0 && l.Class == "InputLayer" {
			l.Calls = [][]Ref{nil}
		}
		at[l.Name] = i
	}
	var wrong error
	refs(m, func(r *Ref) {
		i, ok := at[r.Layer]
		if (!ok || r.Node < 0 || r.Node >= len(m.Layers[i].Calls) || r.Tensor < 0) && wrong == nil {
			wrong = fmt.Errorf("%s: a layer takes output %d of call %d of %q, which does not exist: %w", m.Name, r.Tensor, r.Node, r.Layer, ErrConfig)
		}
	})
	return wrong
}

// A layerCall is one use of a layer of a model.
type layerCall struct{ layer, node int }

// order returns the calls of all layers in an order in which the inputs of each come
// first, and else as they are listed.
func order(m *Model) ([]layerCall, error) {
	at := map[string]int{}
	users := map[layerCall][]layerCall{}
	missing := map[layerCall]int{}
	for i := range m.Layers {
		at[m.Layers[i].Name] = i
	}
	var ready, sorted []layerCall
	for i := range m.Layers {
		for node, inputs := range m.Layers[i].Calls {
			c := layerCall{i, node}
			for _, r := range inputs {
				from := layerCall{at[r.Layer], r.Node}
				users[from] = append(users[from], c)
			}
			if missing[c] = len(inputs); len(inputs) == 0 {
				ready = append(ready, c)
			}
		}
	}
	for len(ready) > 0 {
		c := ready[0]
		ready = ready[1:]
		sorted = append(sorted, c)
		for _, u := range users[c] {
			if missing[u]--; missing[u] == 0 {
				ready = append(ready, u)
			}
		}
	}
	for i, l := range m.Layers {
		for node := range l.Calls {
			if missing[layerCall{i, node}] > 0 {
				return nil, fmt.Errorf("the inputs of %s depend on its own output: %w", l.Name, ErrConfig)
			}
		}
	}
	return sorted, nil
}

// callsOf reads inbound_nodes. In Keras 1 and 2 a call is a list of inputs,
//
//	[["dense", 0, 0, {}], ["dense_1", 0, 0, {"training": false}]]
//
// and in Keras 3 an object with the arguments, in which tensors are
//
//	{"class_name": "__keras_tensor__", "config": {"keras_history": ["dense", 0, 0], …}}
func callsOf(text json.RawMessage) ([][]Ref, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var nodes []json.RawMessage
	if err := json.Unmarshal(text, &nodes); err != nil {
		return nil, fmt.Errorf("inbound_nodes: %w (%w)", err, ErrConfig)
	}
	calls := make([][]Ref, 0, len(nodes))
	for _, node := range nodes {
		inputs, err := refsIn(node)
		if err != nil {
			return nil, err
		}
		calls = append(calls, inputs)
	}
	return calls, nil
}

// refsIn returns the tensors in the arguments of a call, in order.
func refsIn(text json.RawMessage) ([]Ref, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("%.40s: %w (%w)", text, err, ErrConfig)
	}
	return refsOf(value), nil
}

func refsOf(value any) (all []Ref) {
	switch v := value.(type) {
	case []any:
		if r, ok := refFrom(v); ok {
			if r.Layer != constantValue {
				all = append(all, r)
			}
			if len(v) == 4 { // arguments by name
				all = append(all, refsOf(v[3])...)
			}
			return all
		}
		for _, one := range v {
			all = append(all, refsOf(one)...)
		}
	case map[string]any:
		if v["class_name"] == "__keras_tensor__" {
			config, _ := v["config"].(map[string]any)
			history, _ := config["keras_history"].([]any)
			if r, ok := refFrom(history); ok {
				return []Ref{r}
			}
			return []Ref{{}} // of no layer, which checkRefs refuses
		}
		for _, key := range argumentOrder(v) {
			all = append(all, refsOf(v[key])...)
		}
	}
	return all
}

// inboundShapes returns the shapes that Keras 3 writes of the tensors in the first call of a layer, or
// nil. Calls that were translated from those of Keras 2 have shapes of the batch alone.
func inboundShapes(text json.RawMessage) (all [][]int) {
	var calls []any
	if json.Unmarshal(text, &calls) != nil || len(calls) == 0 {
		return nil
	}
	known := true
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				visit(one)
			}
		case map[string]any:
			if v["class_name"] == "__keras_tensor__" {
				shapes := inputShape(&Layer{Config: map[string]any{"batch_shape": field(v, "shape")}})
				known = known && len(shapes) == 1 && len(shapes[0]) > 0
				all = append(all, shapes...)
				return
			}
			for _, key := range argumentOrder(v) {
				visit(v[key])
			}
		}
	}
	if visit(calls[0]); !known {
		return nil
	}
	return all
}

// field returns a field of the configuration of an object.
func field(object map[string]any, name string) any {
	config, _ := object["config"].(map[string]any)
	return config[name]
}

// constantValue is the name that Keras 2 has in place of a layer's where the first argument of a
// function is a number: ["_CONSTANT_VALUE", -1, 1.0, {"y": ["dense", 0, 0]}] is 1/y.
const constantValue = "_CONSTANT_VALUE"

// argumentOrder returns the names of arguments in the order in which layers take them.
// The other ones are sorted.
func argumentOrder(arguments map[string]any) []string {
	first := []string{"args", "kwargs", "inputs", "query", "value", "key"}
	var names []string
	for _, name := range first {
		if _, ok := arguments[name]; ok {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return names
}

// refFrom reads [layer, node, tensor] and [layer, node, tensor, arguments].
func refFrom(v []any) (Ref, bool) {
	if len(v) != 3 && len(v) != 4 {
		return Ref{}, false
	}
	name, isName := v[0].(string)
	node, isNode := v[1].(float64)
	tensor, isTensor := v[2].(float64)
	return Ref{Layer: name, Node: int(node), Tensor: int(tensor)}, isName && isNode && isTensor
}
