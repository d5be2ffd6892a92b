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
	Outputs     []string                 // names, without dots and slashes
	Copies      []string                 // layers that have the weights of others, and are trained apart
	Label       string                   // an output that is left out: the label of the class by the values of the one that stays; "" for none
	Classes     []string                 // the labels in the order of those values, if they are known
}

// A MissingLayersError is the error of a model with nodes that are no layers of package nn, or have settings that
// the layers do not have.
type MissingLayersError struct{ Counts map[string]int }

func (e *MissingLayersError) Error() string {
	return "no layer of h5dnn computes the nodes " + strings.Join(onnx.Counted(e.Counts), ", ") + "; predict runs the graph as it is"
}

// Unwrap returns dtype.ErrType, the kind of what is not supported.
func (e *MissingLayersError) Unwrap() error { return dtype.ErrType }

// A layer is what a node becomes.
type layer struct {
	name     string
	settings map[string]any
	weights  map[string]*tensor.Tensor
	from     []int                    // values
	index    int                      // of the node's output that it computes
	output   func(name string) source // of the first output, if the layer's axes are others
	more     []*layer                 // of further outputs
	states   map[int][]string         // endings of the names of outputs, by the values that join them
}

// A lowering turns nodes into layers.
type lowering struct {
	m          *Model
	shapes     [][]int // of values for one sample, or as many as the graph demands
	types      []dtype.Type
	states     map[int][]int // values (N, features), by the value that joins them along a first axis
	uses       []int
	sources    map[int]source
	ordered    map[[2]int]int // values with the samples first, by value
	names      map[string]bool
	batch      int
	lastFactor int
	nodes      []any                    // of the description
	taken      map[storage.Storage]bool // weights that a layer has
	copies     []string                 // layers with the weights of others
	weights    map[string]storage.Array
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
	out := &Layers{Weights: map[string]storage.Array{}}
	m, err := build(g, func(b *builder) { out.Label, out.Classes = b.leaveLabel() }, (*joiner).gelu, (*joiner).silu, (*joiner).bias)
	if err != nil {
		return nil, err
	}
	out.Inputs = m.inputs
	l := &lowering{m: m, uses: m.uses(), sources: map[int]source{}, ordered: map[[2]int]int{}, taken: map[storage.Storage]bool{}, states: map[int][]int{}, names: map[string]bool{}, weights: out.Weights}
	l.batch = cmp.Or(m.batch, m.unusualSize(samples))
	var inputs []*tensor.Tensor
	var names []any
	for _, in := range m.inputs {
		shape := samples[in.Name]
		inputs = append(inputs, tensor.NewMeta(in.DType, append([]int{l.batch}, shape...)...))
		name := l.unique(in.Name)
		l.sources[in.number] = l.output(name, shape).settled()
		names = append(names, name)
		out.Shapes = append(out.Shapes, shape)
	}
	known, err := l.findShapes(inputs)
	if err != nil {
		return nil, err
	}
	for _, in := range m.inputs {
		if s := l.sources[in.number]; in.DType == dtype.Bool { // which may be numbers in data
			l.sources[in.number] = l.sources[l.then(s.name, "cast", map[string]any{"dtype": "bool"}, l.shapes[in.number], dtype.Bool, in.number)].settled()
		}
	}
	if missing := l.addNodes(known); len(missing) > 0 {
		return nil, &MissingLayersError{missing}
	}
	var outputs []any
	for _, o := range m.outputs {
		from := l.sources[o.number]
		if at, before, after := from.samplesAxis(); at != 0 || before*after > 1 {
			if from.axes != nil {
				return nil, notSamples(o.Name, l.shapes[o.number], l.batch)
			}
			return nil, fmt.Errorf("the output %s is no output of a layer: %w", o.Name, dtype.ErrType)
		}
		outputs, out.Outputs = append(outputs, l.sources[l.sampleFirst(o.number, false)].name), append(out.Outputs, plainName(o.Name))
	}
	out.Copies = l.copies
	out.Description = map[string]any{"graph": map[string]any{"inputs": names, "nodes": l.nodes, "outputs": outputs, "output_names": out.Outputs}}
	return out, nil
}

// unusualSize returns a number of samples that divides no size of an input or a constant: a prime.
func (m *Model) unusualSize(samples map[string][]int) int {
	var sizes []int
	for _, shape := range samples {
		sizes = append(sizes, shape...)
	}
	for _, x := range m.known {
		if x != nil {
			sizes = append(sizes, x.Shape()...)
		}
	}
	for _, prime := range []int{7, 11, 13, 17, 19, 23, 29} {
		if !slices.ContainsFunc(sizes, func(size int) bool { return size%prime == 0 }) {
			return prime
		}
	}
	return 31
}

// addNodes adds the layers of all nodes that compute values, and returns the number of nodes of each operator that have none.
func (l *lowering) addNodes(known []*tensor.Tensor) (missing map[string]int) {
	missing = map[string]int{}
	for _, n := range l.m.nodes {
		if allIn(n.out, known) || l.passes(n) {
			continue
		}
		unknown := slices.ContainsFunc(n.in, func(in int) bool { return l.sources[in].name == "?" && l.sources[in].axes == nil })
		ok := false
		if !unknown && tensor.Try(func() { ok = l.lower(n) }) == nil && ok {
			continue
		}
		if !unknown {
			missing[n.op]++
		}
		for _, out := range n.out {
			if l.sources[out] = (source{name: "?"}); out >= 0 && l.sample(out) != nil {
				l.sources[out] = l.output("?", l.sample(out))
			}
		}
		delete(l.sources, -1) // of an output without a name
	}
	return missing
}

// add adds a layer that computes an output of a node, and reports whether its inputs are known.
func (l *lowering) add(made *layer, n *node, at int, a arrangement) bool {
	from, ok := l.namesOf(made.from)
	if !ok || made.output == nil && made.states == nil && l.sample(a.out[at]) == nil {
		return false
	}
	name := l.describe(l.nameOf(n), made, from)
	first := name
	if made.settings["return_state"] == true {
		first = name + ".0"
	}
	switch {
	case n.out[at] < 0:
	case made.output != nil:
		l.sources[n.out[at]] = made.output(first)
	default:
		l.sources[n.out[at]] = a.source(first, l.shapes[a.out[at]][1:])
	}
	for out, endings := range made.states {
		for _, ending := range endings {
			l.states[out] = append(l.states[out], l.value(name+ending, l.shapes[out][1:], dtype.Float32))
		}
		l.sources[out] = source{states: true}
	}
	return true
}

// describe adds the node of a layer to the description, and its weights, and returns its name.
func (l *lowering) describe(name string, made *layer, from []any) string {
	name = l.unique(name)
	settings := map[string]any{}
	if made.settings != nil {
		settings = made.settings
	}
	l.nodes = append(l.nodes, map[string]any{"name": name, "layer": map[string]any{made.name: settings}, "from": from})
	shared := len(made.weights) > 0
	for parameter, w := range made.weights {
		l.weights[name+"."+parameter] = w.Contiguous().Array()
		shared = shared && l.taken[w.Storage()]
	}
	for _, w := range made.weights {
		l.taken[w.Storage()] = true
	}
	if shared {
		l.copies = append(l.copies, name)
	}
	return name
}

// passesStates notes states that are joined or taken one by one.
func (l *lowering) passesStates(n *node) bool {
	var all []int
	for _, in := range n.in[:min(len(n.in), max(1, len(n.out)))] {
		if !l.sources[in].states {
			return false
		}
	}
	switch list := l.states[n.in[0]]; {
	case n.op == "Concat" && n.integer("axis", 1) == 0:
		for _, in := range n.in {
			if !l.sources[in].states {
				return false
			}
			all = append(all, l.states[in]...)
		}
		l.states[n.out[0]], l.sources[n.out[0]] = all, source{states: true}
		return true
	case n.op == "Slice" && len(list) == 1 && slices.Equal(l.shapes[n.out[0]], l.shapes[n.in[0]]): // as PyTorch takes the states of each layer
		l.states[n.out[0]], l.sources[n.out[0]] = list, source{states: true}
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
						l.m.learnt[n.out[i]] = l.m.isLearnt(n)
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

// lower adds the layers of a node, and reports whether it has any.
func (l *lowering) lower(n *node) bool {
	rule := layers[n.op]
	if rule == nil || functions[n.op]+merges[n.op] != "" && slices.Contains(n.in, -1) {
		return false
	}
	a, ok := l.arranged(n)
	if !ok {
		return l.distribute(n, rule)
	}
	made := rule(l, a.node)
	if made == nil {
		return false
	}
	_, recurrent := statesOf[n.op]
	for i, out := range n.out {
		if out >= 0 && l.uses[out] > 0 && !recurrent && (i < made.index || i > made.index+len(made.more)) {
			return false
		}
	}
	ok = l.add(made, n, made.index, a)
	for i, further := range made.more {
		ok = ok && l.add(further, n, 1+i, a)
	}
	return ok
}

// namesOf returns the names of the nodes that compute values.
func (l *lowering) namesOf(values []int) (names []any, ok bool) {
	for _, at := range values {
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

// nameOf returns the name of the module that a node has a weight or bias of, if they are named so, or else of the node.
func (l *lowering) nameOf(n *node) string {
	for _, ending := range []string{".weight", ".bias"} {
		for _, in := range n.in[min(1, len(n.in)):] {
			if in < 0 {
				continue
			}
			if module, ok := strings.CutSuffix(l.m.names[in], ending); ok {
				return module
			}
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
