package nn

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// GraphOptions are the settings of a Graph.
type GraphOptions struct {
	Inputs  Names `json:"inputs,omitempty"`  // names of the inputs; "x" if nil
	Nodes   Nodes `json:"nodes"`             // required
	Outputs Names `json:"outputs,omitempty"` // nodes that are outputs; the last if nil

	OutputNames Names `json:"output_names,omitempty"` // names of the outputs; those of the nodes if nil
}

// A Node is a module of a Graph.
type Node struct {
	Name   string
	Module Module
	From   Names // inputs: names of nodes or of inputs of the graph; the node before if nil

	device storage.Device // of the parameters of nodes that UnmarshalJSON builds
}

// Nodes are the modules of a Graph.
type Nodes []Node

// placeOn leaves a node without a name for UnmarshalJSON to find.
func (n *Nodes) placeOn(d storage.Device) { *n = Nodes{{device: d}} }

// Names is a list of names. In configurations a single name stands for a list of one.
type Names []string

// Graph applies modules to the outputs of others, as their names say. The names
// are those of the modules' parameters too: stem.weight. The output i of a module
// with several is NAME.i.
type Graph struct {
	Registry
	GraphOptions `nn:"-"`

	steps   []graphStep // in an order in which inputs come first
	outputs []graphValue
}

// A graphStep computes a node.
type graphStep struct {
	node   int // of Nodes
	inputs []graphValue
	next   int // the node that alone uses the result, if any; len(Nodes) if it is the only output of the graph

	needed []int // nodes whose results later steps need, or the graph returns
	unused []int // nodes whose results this step is the last to need
}

// A graphValue is an output of a node, or an input of the graph.
type graphValue struct {
	node   int // of Nodes; −1 for the inputs of the graph
	output int // −1 for the only output
}

// NewGraph returns a graph. Nodes are required; they may be in any order.
func NewGraph(o GraphOptions) *Graph {
	g := &Graph{GraphOptions: o}
	if g.Inputs == nil {
		g.Inputs = Names{"x"}
	}
	if len(o.Nodes) == 0 || len(o.Nodes) == 1 && o.Nodes[0].device != nil && o.Nodes[0].Module == nil {
		tensor.Fail("graph", ErrConfig, "no nodes")
	}
	g.checkNodes()
	if g.Outputs == nil {
		g.Outputs = Names{o.Nodes[len(o.Nodes)-1].Name}
	}
	for _, name := range g.Outputs {
		g.outputs = append(g.outputs, g.value(name))
	}
	if n := len(g.GraphOptions.OutputNames); n > 0 && n != len(g.Outputs) {
		tensor.Fail("graph", ErrConfig, "%d names of %d outputs", n, len(g.Outputs))
	}
	g.sort()
	g.findNext()
	g.findLastUses()
	for _, n := range g.Nodes {
		g.RegisterModule(n.Name, n.Module)
	}
	return g
}

// checkNodes fails if the names of inputs and nodes are not distinct, or a node has
// no module.
func (g *Graph) checkNodes() {
	names := slices.Clone(g.Inputs)
	for i, n := range g.Nodes {
		if isNil(n.Module) {
			tensor.Fail("graph", ErrConfig, "node %d (%q) has no layer", i, n.Name)
		}
		names = append(names, n.Name)
	}
	for i, name := range names {
		switch {
		case name == "" || strings.ContainsAny(name, "./"):
			tensor.Fail("graph", ErrConfig, "name %q; want one without dots and slashes", name)
		case slices.Contains(names[:i], name):
			tensor.Fail("graph", ErrConfig, "two nodes or inputs are named %q", name)
		}
	}
}

// value finds the input or the output of a node with that name.
func (g *Graph) value(name string) graphValue {
	if i := slices.Index(g.Inputs, name); i >= 0 {
		return graphValue{-1, i}
	}
	node, number, several := strings.Cut(name, ".")
	output, err := strconv.Atoi(number)
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == node })
	if i < 0 || several && (err != nil || output < 0) {
		known := slices.Clone(g.Inputs)
		for _, n := range g.Nodes {
			known = append(known, n.Name)
		}
		err := config.At(config.Unknown("node or input", name, known), name)
		tensor.Fail("graph", err, "%v", err)
	}
	if !several {
		output = -1
	}
	return graphValue{i, output}
}

// sort orders the nodes so that the inputs of each come before it, and else as
// they are listed.
func (g *Graph) sort() {
	inputs := make([][]graphValue, len(g.Nodes))
	for i, n := range g.Nodes {
		switch {
		case len(n.From) > 0:
			for _, name := range n.From {
				inputs[i] = append(inputs[i], g.value(name))
			}
		case i > 0:
			inputs[i] = []graphValue{{i - 1, -1}}
		default:
			for k := range g.Inputs {
				inputs[i] = append(inputs[i], graphValue{-1, k})
			}
		}
	}
	done := make([]bool, len(g.Nodes))
	ready := func(i int) bool {
		return !done[i] && !slices.ContainsFunc(inputs[i], func(v graphValue) bool { return v.node >= 0 && !done[v.node] })
	}
	for len(g.steps) < len(g.Nodes) {
		before := len(g.steps)
		for i := range g.Nodes {
			if ready(i) {
				done[i] = true
				g.steps = append(g.steps, graphStep{node: i, inputs: inputs[i], next: -1})
			}
		}
		if len(g.steps) == before {
			tensor.Fail("graph", ErrConfig, "the inputs of %s depend on its own output", g.Nodes[slices.Index(done, false)].Name)
		}
	}
}

// findNext finds the nodes whose results have one user, which takes nothing else.
func (g *Graph) findNext() {
	const several = -2
	users := slices.Repeat([]int{-1}, len(g.Nodes))
	use := func(user int, values []graphValue) {
		for _, v := range values {
			switch {
			case v.node < 0:
			case users[v.node] == -1 && len(values) == 1:
				users[v.node] = user
			default:
				users[v.node] = several
			}
		}
	}
	for _, s := range g.steps {
		use(s.node, s.inputs)
	}
	use(len(g.Nodes), g.outputs)
	for i, s := range g.steps {
		g.steps[i].next = max(-1, users[s.node])
	}
}

// findLastUses finds which results each step is the last to need.
func (g *Graph) findLastUses() {
	needed := map[int]bool{}
	note := func(values []graphValue) (first []int) {
		for _, v := range values {
			if v.node >= 0 && !needed[v.node] {
				needed[v.node] = true
				first = append(first, v.node)
			}
		}
		return first
	}
	note(g.outputs)
	for i := len(g.steps) - 1; i >= 0; i-- {
		s := &g.steps[i]
		s.needed = slices.Sorted(maps.Keys(needed))
		s.unused = note(s.inputs)
		delete(needed, s.node)
	}
}

// InputNames returns the names of the inputs.
func (g *Graph) InputNames() []string { return g.Inputs }

// OutputNames returns the names of the outputs.
func (g *Graph) OutputNames() []string {
	if g.GraphOptions.OutputNames != nil {
		return g.GraphOptions.OutputNames
	}
	return g.Outputs
}

// Forward returns the output for x, for a graph of one input and one output.
func (g *Graph) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(g, x) }

// ForwardAll returns the outputs for inputs, in the order of Outputs and Inputs.
func (g *Graph) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	outputs, _ := g.forwardBefore(nil, inputs)
	return outputs
}

func (g *Graph) forwardBefore(next Module, inputs []*tensor.Tensor) (outputs []*tensor.Tensor, fused bool) {
	if len(inputs) != len(g.Inputs) {
		tensor.Fail("graph", views.ErrShape, "%d inputs; want %v", len(inputs), g.Inputs)
	}
	computed := make([][]*tensor.Tensor, len(g.Nodes))
	tape := quietTape(inputs)
	for _, s := range g.steps {
		if computed[s.node] != nil { // with the node before it
			continue
		}
		name := g.Nodes[s.node].Name
		results, joined := callBefore(g.after(s, next), name, g.Module(name), g.collect(s.inputs, inputs, computed))
		computed[s.node] = results
		if joined && s.next < len(g.Nodes) {
			computed[s.next] = results
		} else if joined {
			fused = true
		}
		g.releaseUnused(tape, s, inputs, computed)
	}
	return g.collect(g.outputs, inputs, computed), fused
}

// releaseUnused gives the memory of results back that no step after s needs.
func (g *Graph) releaseUnused(tape *tensor.Tape, s graphStep, inputs []*tensor.Tensor, computed [][]*tensor.Tensor) {
	if tape == nil || len(s.unused) == 0 {
		return
	}
	kept := slices.Clone(inputs)
	for _, node := range s.needed {
		kept = append(kept, computed[node]...)
	}
	for _, node := range s.unused {
		tape.Release(computed[node], kept)
	}
}

// after returns the module that alone uses the result of s, or nil; next is the module
// after g.
func (g *Graph) after(s graphStep, next Module) Module {
	switch {
	case s.next < 0:
		return nil
	case s.next == len(g.Nodes):
		return next
	}
	return g.Module(g.Nodes[s.next].Name)
}

// collect returns the tensors that values refer to.
func (g *Graph) collect(values []graphValue, inputs []*tensor.Tensor, computed [][]*tensor.Tensor) []*tensor.Tensor {
	list := make([]*tensor.Tensor, len(values))
	for i, v := range values {
		switch {
		case v.node < 0:
			list[i] = inputs[v.output]
		case v.output < 0:
			list[i] = single(g.Nodes[v.node].Name, computed[v.node])
		case v.output >= len(computed[v.node]):
			tensor.Fail("graph", views.ErrShape, "%s has %d outputs, and no %d", g.Nodes[v.node].Name, len(computed[v.node]), v.output)
		default:
			list[i] = computed[v.node][v.output]
		}
	}
	return list
}

// UnmarshalJSON reads the nodes.
func (n *Nodes) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return config.Errorf("cannot be %.40s; want a list of nodes, [{name: h, layer: {dense: 8}, from: x}, …]", text)
	}
	var device storage.Device
	if len(*n) > 0 {
		device = (*n)[0].device
	}
	*n = make(Nodes, len(list))
	for i, one := range list {
		node := nodeConfig{Layer: Submodule{device: device}}
		if err := config.Decode(one, &node); err != nil {
			return config.At(err, config.Item{Kind: "node", Index: i})
		}
		if node.Share != "" {
			if err := n.share(&node, i); err != nil {
				return config.At(err, config.Item{Kind: "node", Index: i}, "share")
			}
		}
		(*n)[i] = Node{Name: node.Name, Module: node.Layer.Module, From: node.From}
	}
	return nil
}

// share gives node i the module of the one before it that it names.
func (n *Nodes) share(node *nodeConfig, i int) error {
	var names []string
	for _, before := range (*n)[:i] {
		if before.Name == node.Share && node.Layer.Module == nil {
			node.Layer.Module = before.Module
			return nil
		}
		names = append(names, before.Name)
	}
	if node.Layer.Module != nil {
		return config.Errorf("a node has a layer or shares one; leave one of them out")
	}
	return config.Unknown("node before", node.Share, names)
}

// sharedWith returns the name of the first of nodes that has the same module, or "".
func (n Nodes) sharedWith(m Module) string {
	if reflect.ValueOf(m).Kind() != reflect.Pointer {
		return ""
	}
	for _, node := range n {
		if node.Module == m {
			return node.Name
		}
	}
	return ""
}

// MarshalJSON describes the nodes.
func (n Nodes) MarshalJSON() ([]byte, error) {
	list := make([]nodeConfig, len(n))
	for i, node := range n {
		if first := n[:i].sharedWith(node.Module); first != "" {
			list[i] = nodeConfig{Name: node.Name, Share: first, From: node.From}
			continue
		}
		list[i] = nodeConfig{Name: node.Name, Layer: Submodule{Module: node.Module}, From: node.From}
	}
	return json.Marshal(list)
}

// nodeConfig is a Node in a configuration.
type nodeConfig struct {
	Name  string    `json:"name"`
	Layer Submodule `json:"layer,omitzero"`  // required, unless it is shared
	Share string    `json:"share,omitempty"` // a node before, whose layer with its parameters is this one's, too
	From  Names     `json:"from,omitempty"`  // inputs and nodes that it takes; the node before if nil
}

// UnmarshalJSON reads a name or a list of names.
func (n *Names) UnmarshalJSON(text []byte) error {
	list, err := config.OneOrMore[string](text)
	if err != nil {
		return config.Errorf("cannot be %.40s; want a name or a list of names", text)
	}
	*n = list
	return nil
}

var _ = RegisterLayer("graph", NewGraph, GraphOptions{})
