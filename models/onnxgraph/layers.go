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
	lastState    layout = "DN"  // (directions, N, features)
)

// A layer is what a node becomes.
type layer struct {
	name     string
	settings map[string]any
	weights  map[string]*tensor.Tensor
	from     []int // values; the first input of the node if nil
	layout   layout
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
	uses    []int
	sources map[int]source
	names   map[string]bool
	batch   int
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
	m, err := build(g, (*joiner).bias)
	if err != nil {
		return nil, err
	}
	l := &lowering{m: m, uses: m.uses(), sources: map[int]source{}, names: map[string]bool{}, batch: max(1, m.batch)}
	out := &Layers{Weights: map[string]storage.Array{}, Inputs: m.inputs}
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
	var nodes []any
	missing := map[string]int{}
	for _, n := range m.nodes {
		if allIn(n.out, known) {
			continue
		}
		if l.passes(n) {
			continue
		}
		var made *layer
		if tensor.Try(func() { made = l.lower(n) }) != nil || made == nil {
			missing[n.op]++
			for _, out := range n.out {
				l.sources[out] = source{name: "?"}
			}
			continue
		}
		from, ok := l.namesOf(made)
		if !ok {
			missing[n.op]++
			continue
		}
		name := l.unique(l.nameOf(n))
		settings := map[string]any{}
		if made.settings != nil {
			settings = made.settings
		}
		nodes = append(nodes, map[string]any{"name": name, "layer": map[string]any{made.name: settings}, "from": from})
		for parameter, w := range made.weights {
			out.Weights[name+"."+parameter] = w.Contiguous().Array()
		}
		l.sources[n.out[0]] = source{name, made.layout}
	}
	if len(missing) > 0 {
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
	out.Description = map[string]any{"graph": map[string]any{"inputs": names, "nodes": nodes, "outputs": outputs, "output_names": outputNames}}
	return out, nil
}

// findShapes computes the shapes of all values, and returns those that follow from constants and shapes.
func (l *lowering) findShapes(inputs []*tensor.Tensor) (known []*tensor.Tensor, err error) {
	values := l.m.start(l.m.known, inputs)
	known = slices.Clone(l.m.known)
	l.shapes = make([][]int, len(values))
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
			l.shapes[at] = x.Shape()
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
	if len(n.in) > 0 && n.in[0] >= 0 && l.sources[n.in[0]].layout != samplesFirst && n.op != "LSTM" && n.op != "GRU" && n.op != "RNN" {
		return nil
	}
	for _, out := range n.out[1:] {
		if out >= 0 && l.uses[out] > 0 && n.op != "LSTM" && n.op != "GRU" && n.op != "RNN" {
			return nil
		}
	}
	return rule(l, n)
}

// passes notes nodes that change nothing or the order of axes alone, which the layers do not need.
func (l *lowering) passes(n *node) bool {
	if len(n.in) == 0 || len(n.out) == 0 || n.in[0] < 0 {
		return false
	}
	from, ok := l.sources[n.in[0]]
	if !ok {
		return false
	}
	to, same := from.layout, n.op == "Identity" || n.op == "Dropout"
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
	case n.op == "Squeeze" && from.layout == lastState && len(result) == 2 && shape[0] == 1:
		to, same = samplesFirst, true
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
	return tensor.Values[float64](x.Detach().Cast(dtype.Float64)), true
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
