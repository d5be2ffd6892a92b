package onnxgraph

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Layers are a model as layers of package nn.
type Layers struct {
	Description any                      // of a graph, as nn.FromConfig reads it
	Weights     map[string]storage.Array // by the names of the parameters
	Inputs      []Value                  // in the order of the graph
	Shapes      [][]int                  // of samples of the inputs
}

// A MissingLayersError is the error of a model with nodes that are no layers of package nn, or have settings that
// the layers do not have.
type MissingLayersError struct{ Counts map[string]int }

func (e *MissingLayersError) Error() string {
	return "no layer of h5dnn computes the nodes " + strings.Join(onnx.Counted(e.Counts), ", ") + "; predict runs the graph as it is"
}

// Unwrap returns dtype.ErrType, the kind of what is not supported.
func (e *MissingLayersError) Unwrap() error { return dtype.ErrType }

// layout is the order of the axes of a value: recurrent layers of ONNX take the steps first, those of nn the samples.
type layout string

const (
	samplesFirst layout = ""
	stepsFirst   layout = "TN"  // (T, N, features)
	directions   layout = "TDN" // (T, directions, N, features)
	merged       layout = "TND" // (T, N, directions, features)
	statesOnly   layout = "DN"  // (directions or layers, N, features), whose parts are in lowering.states
)

// A layer is what a node becomes.
type layer struct {
	name     string
	settings map[string]any
	weights  map[string]*tensor.Tensor
	from     []int // values; the first input of the node if nil
	layout   layout
	more     []*layer         // of further outputs
	states   map[int][]string // endings of the names of outputs, by the values that join them
}

// A source is the node of a description that computes a value.
type source struct {
	name   string
	layout layout
}

// A lowering turns nodes into layers.
type lowering struct {
	m       *Model
	shapes  [][]int // of values for one sample, or as many as the graph demands
	types   []dtype.Type
	states  map[int][]int // values (N, features), by the value that joins them along a first axis
	uses    []int
	sources map[int]source
	names   map[string]bool
	batch   int
	nodes   []any // of the description
	weights map[string]storage.Array
}

// layers are the rules by which nodes become layers. A rule returns nil for settings that its layer does not have.
var layers = map[string]func(l *lowering, n *node) *layer{}

func toLayer(op string, f func(l *lowering, n *node) *layer) bool {
	layers[op] = f
	return true
}

// ToLayers returns the model of a graph as layers of package nn. samples are the shapes of samples of inputs whose sizes
// the graph leaves open, by their names.
func ToLayers(g *onnx.Graph, samples map[string][]int) (*Layers, error) {
	m, err := build(g, (*joiner).gelu, (*joiner).silu, (*joiner).bias)
	if err != nil {
		return nil, err
	}
	l := &lowering{m: m, uses: m.uses(), sources: map[int]source{}, states: map[int][]int{}, names: map[string]bool{}, batch: max(1, m.batch), weights: map[string]storage.Array{}}
	out := &Layers{Weights: l.weights, Inputs: m.inputs}
	var inputs []*tensor.Tensor
	var names []any
	for _, in := range m.inputs {
		shape := samples[in.Name]
		inputs = append(inputs, tensor.NewMeta(in.DType, append([]int{l.batch}, shape...)...))
		name := l.unique(in.Name)
		l.sources[in.number] = source{name: name}
		names = append(names, name)
		out.Shapes = append(out.Shapes, shape)
	}
	known, err := l.findShapes(inputs)
	if err != nil {
		return nil, err
	}
	if missing := l.addNodes(known); len(missing) > 0 {
		return nil, &MissingLayersError{missing}
	}
	var outputs, outputNames []any
	for _, o := range m.outputs {
		from, ok := l.sources[o.number]
		if !ok || from.layout != samplesFirst {
			return nil, fmt.Errorf("the output %s is no output of a layer: %w", o.Name, dtype.ErrType)
		}
		outputs, outputNames = append(outputs, from.name), append(outputNames, plainName(o.Name))
	}
	out.Description = map[string]any{"graph": map[string]any{"inputs": names, "nodes": l.nodes, "outputs": outputs, "output_names": outputNames}}
	return out, nil
}

// addNodes adds the layers of all nodes that compute values, and returns the number of nodes of each operator that have none.
func (l *lowering) addNodes(known []*tensor.Tensor) (missing map[string]int) {
	missing = map[string]int{}
	for _, n := range l.m.nodes {
		if allIn(n.out, known) || l.passes(n) {
			continue
		}
		var made *layer
		failed := tensor.Try(func() { made = l.lower(n) }) != nil || made == nil
		if failed = failed || !l.add(made, n, n.out[0]); !failed {
			for i, further := range made.more {
				failed = failed || !l.add(further, n, n.out[1+i])
			}
		}
		if failed {
			missing[n.op]++
			for _, out := range n.out {
				l.sources[out] = source{name: "?"}
			}
			delete(l.sources, -1)
		}
	}
	return missing
}

// add adds a layer that computes a value of a node, and reports whether its inputs are known.
func (l *lowering) add(made *layer, n *node, value int) bool {
	from, ok := l.namesOf(made)
	if !ok {
		return false
	}
	name := l.unique(l.nameOf(n))
	settings := map[string]any{}
	if made.settings != nil {
		settings = made.settings
	}
	l.nodes = append(l.nodes, map[string]any{"name": name, "layer": map[string]any{made.name: settings}, "from": from})
	for parameter, w := range made.weights {
		l.weights[name+"."+parameter] = w.Contiguous().Array()
	}
	if l.sources[value] = (source{name, made.layout}); made.settings["return_state"] == true {
		l.sources[value] = source{name + ".0", made.layout}
	}
	delete(l.sources, -1) // of an output without a name
	for out, endings := range made.states {
		for _, ending := range endings {
			l.states[out] = append(l.states[out], l.value(name+ending, l.shapes[out][1:]))
		}
		l.sources[out] = source{layout: statesOnly}
	}
	return true
}

// value returns the number of a value that a node of the description computes.
func (l *lowering) value(name string, shape []int) int {
	at := len(l.shapes)
	l.shapes, l.types, l.sources[at] = append(l.shapes, shape), append(l.types, dtype.Float32), source{name: name}
	return at
}

// passesStates notes states that are joined or taken one by one.
func (l *lowering) passesStates(n *node) bool {
	var all []int
	for _, in := range n.in[:min(len(n.in), max(1, len(n.out)))] {
		if l.sources[in].layout != statesOnly {
			return false
		}
	}
	switch list := l.states[n.in[0]]; {
	case n.op == "Concat" && n.integer("axis", 1) == 0:
		for _, in := range n.in {
			if l.sources[in].layout != statesOnly {
				return false
			}
			all = append(all, l.states[in]...)
		}
		l.states[n.out[0]], l.sources[n.out[0]] = all, source{layout: statesOnly}
		return true
	case n.op == "Squeeze" && len(list) == 1 && len(l.shapes[n.out[0]]) == 2:
		l.sources[n.out[0]] = l.sources[list[0]]
		return true
	case n.op == "Gather" && n.integer("axis", 0) == 0:
		if at, ok := l.numbers(n, 1); ok && len(l.shapes[n.in[1]]) == 0 && int(at[0]) < len(list) && int(at[0]) >= -len(list) {
			l.sources[n.out[0]] = l.sources[list[(int(at[0])+len(list))%len(list)]]
			return true
		}
	}
	return false
}

// findShapes computes the shapes of all values, and returns those that follow from constants and shapes.
func (l *lowering) findShapes(inputs []*tensor.Tensor) (known []*tensor.Tensor, err error) {
	values := l.m.start(l.m.known, inputs)
	known = slices.Clone(l.m.known)
	l.shapes, l.types = make([][]int, len(values)), make([]dtype.Type, len(values))
	err = tensor.Try(func() {
		for _, n := range l.m.nodes {
			fixed := n.rule.ofShape || l.m.allKnown(n, known)
			for i, y := range n.compute(detached(l.m.operands(n, values)), false) {
				if i < len(n.out) && n.out[i] >= 0 && y != nil {
					values[n.out[i]] = y
					if fixed {
						known[n.out[i]] = y
					}
				}
			}
		}
	})
	for at, x := range values {
		if x != nil {
			l.shapes[at], l.types[at] = x.Shape(), x.DType()
		}
	}
	l.m.known = known
	return known, err
}

func allIn(values []int, known []*tensor.Tensor) bool {
	return !slices.ContainsFunc(values, func(at int) bool { return at >= 0 && known[at] == nil })
}

// lower returns the layer of a node, or nil.
func (l *lowering) lower(n *node) *layer {
	rule := layers[n.op]
	if rule == nil || n.rule.domain != "" {
		return nil
	}
	_, recurrent := statesOf[n.op]
	if functions[n.op]+merges[n.op] != "" && slices.Contains(n.in, -1) || !recurrent && slices.ContainsFunc(n.in, func(in int) bool { return l.sources[in].layout != samplesFirst }) {
		return nil
	}
	made := rule(l, n)
	for i, out := range n.out[1:] {
		if out >= 0 && l.uses[out] > 0 && !recurrent && (made == nil || i >= len(made.more)) {
			return nil
		}
	}
	return made
}

// passes notes nodes that change nothing or the order of axes alone, which the layers do not need.
func (l *lowering) passes(n *node) bool {
	if len(n.in) == 0 || len(n.out) == 0 || n.in[0] < 0 {
		return false
	}
	if l.passesStates(n) {
		return true
	}
	from, ok := l.sources[n.in[0]]
	if !ok {
		return false
	}
	to, same := from.layout, n.op == "Identity" || n.op == "Dropout" || n.op == "Concat" && len(n.in) == 1
	shape, result := l.shapes[n.in[0]], l.shapes[n.out[0]]
	switch order := n.integers("perm"); {
	case n.op == "Cast" && slices.Equal(shape, result) && from.layout == samplesFirst:
		same = n.integer("to", 0) == 1 // floats, which the layers compute with
	case n.op == "Transpose" && from.layout == samplesFirst && slices.Equal(order, []int{1, 0, 2}):
		to, same = stepsFirst, true
	case n.op == "Transpose" && from.layout == stepsFirst && slices.Equal(order, []int{1, 0, 2}):
		to, same = samplesFirst, true
	case n.op == "Transpose" && from.layout == directions && slices.Equal(order, []int{0, 2, 1, 3}):
		to, same = merged, true
	case n.op == "Squeeze" && from.layout == directions && len(result) == 3 && shape[1] == 1:
		to, same = stepsFirst, true
	case n.op == "Reshape" && from.layout == merged && len(result) == 3 && result[0] == shape[0] && result[1] == shape[1]:
		to, same = stepsFirst, true
	case n.op == "Reshape" || n.op == "Flatten":
		same = from.layout == samplesFirst && slices.Equal(shape, result)
	}
	if same {
		l.sources[n.out[0]] = source{from.name, to}
	}
	return same
}

// namesOf returns the names of the nodes that a layer takes.
func (l *lowering) namesOf(made *layer) (names []any, ok bool) {
	for _, at := range made.from {
		from, ok := l.sources[at]
		if !ok {
			return nil, false
		}
		names = append(names, from.name)
	}
	return names, true
}

var others = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// plainName returns a name without dots and slashes.
func plainName(name string) string { return strings.Trim(others.ReplaceAllString(name, "_"), "_") }

// nameOf returns the name of the module whose weight a node has, if the weight is named so, or that of the node.
func (l *lowering) nameOf(n *node) string {
	for _, in := range n.in[min(1, len(n.in)):] {
		if in < 0 {
			continue
		}
		if module, ok := strings.CutSuffix(l.m.names[in], ".weight"); ok {
			return module
		}
	}
	return n.name
}

// unique returns a plain name that is not in use.
func (l *lowering) unique(name string) string {
	name = cmp.Or(plainName(name), "node")
	if name[0] >= '0' && name[0] <= '9' {
		name = "n" + name
	}
	for i, first := 2, name; l.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", first, i)
	}
	l.names[name] = true
	return name
}

// constant returns a constant input of a node, or nil.
func (l *lowering) constant(n *node, i int) *tensor.Tensor {
	if i >= len(n.in) || n.in[i] < 0 {
		return nil
	}
	return l.m.known[n.in[i]]
}

// numbers returns the elements of a constant input of a node; ok is false if it has none.
func (l *lowering) numbers(n *node, i int) (list []float64, ok bool) {
	x := l.constant(n, i)
	if x == nil {
		return nil, false
	}
	return elements(x), true
}

func elements(x *tensor.Tensor) []float64 {
	return tensor.Values[float64](x.Detach().Cast(dtype.Float64))
}

// sample returns the shape of a sample of a value, or nil if its first axis does not count samples.
func (l *lowering) sample(value int) []int {
	shape := l.shapes[value]
	if len(shape) == 0 || shape[0] != l.batch {
		return nil
	}
	return shape[1:]
}

func compareOperators(a, b operator) int {
	return cmp.Or(strings.Compare(a.domain, b.domain), strings.Compare(a.op, b.op))
}
