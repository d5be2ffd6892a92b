package onnxgraph

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A builder makes a model of a graph.
type builder struct {
	graph   *onnx.Graph
	m       *Model
	values  map[string]int // numbers by names
	made    []bool         // by number: an input, an initializer or an output of a node
	texts   [][]string     // by number
	missing map[string]int
	folded  int              // bytes of constants that were computed
	change  func(b *builder) // before nodes are joined; nil for none
	joins   []join
}

const (
	maxNodes     = 1 << 20 // of a graph with its functions
	maxFunctions = 100     // within each other
	maxFolded    = 256 << 20
)

func (b *builder) build() (*Model, error) {
	m, g := b.m, b.graph
	for _, name := range slices.Sorted(maps.Keys(g.Initializers)) {
		t, at := g.Initializers[name], b.define(name)
		x, err := load(t)
		if err != nil {
			return nil, fmt.Errorf("initializer %s: %w", name, err)
		}
		m.known[at], m.learnt[at] = x, x.DType().IsFloat()
		if b.texts[at], err = textsIn(t); err != nil {
			return nil, fmt.Errorf("initializer %s: %w", name, err)
		}
	}
	for _, in := range g.Inputs {
		if _, constant := g.Initializers[in.Name]; !constant {
			m.inputs = append(m.inputs, Value{Value: in, number: b.define(in.Name)})
		}
	}
	if err := b.addNodes(g.Nodes, g.Opsets, nil, 0); err != nil {
		return nil, err
	}
	if len(b.missing) > 0 {
		return nil, &MissingOperatorsError{b.missing}
	}
	for _, out := range g.Outputs {
		at, ok := b.values[out.Name]
		if !ok || !b.made[at] {
			return nil, errkind.Errorf(storage.ErrState, "nothing computes the output %q", out.Name)
		}
		m.outputs = append(m.outputs, Value{Value: out, number: at})
	}
	if err := b.sort(); err != nil {
		return nil, err
	}
	b.name()
	b.fold()
	if b.change != nil {
		b.change(b)
	}
	b.joinNodes()
	b.removeUnused()
	b.keepWeights()
	m.batch = b.fixedBatch()
	return m, nil
}

// number returns the number of the value of a name.
func (b *builder) number(name string) int {
	at, ok := b.values[name]
	if !ok {
		at = len(b.m.names)
		b.values[name] = at
		b.m.names, b.m.known = append(b.m.names, name), append(b.m.known, nil)
		b.made, b.texts = append(b.made, false), append(b.texts, nil)
	}
	return at
}

// define is number for a value that something provides.
func (b *builder) define(name string) int {
	at := b.number(name)
	b.made[at] = true
	return at
}

// A scope renames the values and gives the attributes of a function that is inlined.
type scope struct {
	prefix     string
	values     map[string]string // of inputs and outputs
	attributes map[string]onnx.Attribute
}

func (s *scope) value(name string) string {
	if s == nil || name == "" {
		return name
	}
	if given, ok := s.values[name]; ok {
		return given
	}
	return s.prefix + name
}

// addNodes adds nodes of the graph, or of a function, whose nodes replace the node that names it.
func (b *builder) addNodes(nodes []onnx.Node, opsets map[string]int, in *scope, depth int) error {
	if depth > maxFunctions {
		return errkind.Errorf(storage.ErrState, "more than %d functions within each other", maxFunctions)
	}
	for i, n := range nodes {
		if len(b.m.nodes) > maxNodes {
			return errkind.Errorf(storage.ErrState, "more than %d nodes", maxNodes)
		}
		if n.Name == "" {
			n.Name = fmt.Sprintf("%s %d", n.Op, i)
		}
		attributes := n.Attributes
		if in != nil {
			n.Name = in.prefix + n.Name
			attributes = map[string]onnx.Attribute{}
			for name, a := range n.Attributes {
				if a.Of != "" {
					given, ok := in.attributes[a.Of]
					if !ok {
						continue
					}
					a = given
				}
				attributes[name] = a
			}
		}
		n.Inputs, n.Outputs = renamed(n.Inputs, in), renamed(n.Outputs, in)
		if f := b.function(n); f != nil {
			if err := b.inline(n, f, attributes, depth); err != nil {
				return err
			}
			continue
		}
		r := rules[operator{n.Domain, n.Op}]
		if r == nil {
			b.missing[n.FullName()]++
			continue
		}
		made := &node{op: n.Op, name: n.Name, opset: opsets[n.Domain], attributes: attributes, rule: r}
		if err := made.loadTensors(); err != nil {
			return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		for _, name := range n.Inputs {
			if name == "" {
				made.in = append(made.in, -1)
			} else {
				made.in = append(made.in, b.number(name))
			}
		}
		for _, name := range n.Outputs {
			if name == "" {
				made.out = append(made.out, -1)
				continue
			}
			at := b.number(name)
			if b.made[at] {
				return errkind.Errorf(storage.ErrState, "node %s: the value %q has two sources", n.Name, name)
			}
			made.out = append(made.out, b.define(name))
		}
		b.m.nodes = append(b.m.nodes, made)
	}
	return nil
}

// loadTensors reads the attributes that are tensors.
func (n *node) loadTensors() error {
	for _, name := range slices.Sorted(maps.Keys(n.attributes)) {
		a := n.attributes[name]
		if a.Tensor.Err == nil && a.Tensor.Elements == nil && a.Tensor.Array.Data == nil {
			continue
		}
		x, err := load(a.Tensor)
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		if n.tensors == nil {
			n.tensors = map[string]*tensor.Tensor{}
		}
		n.tensors[name] = x
	}
	return nil
}

func renamed(names []string, in *scope) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = in.value(name)
	}
	return list
}

// function returns the function of the model that n names as its operator, or nil.
func (b *builder) function(n onnx.Node) *onnx.Function {
	for i := range b.graph.Functions {
		if f := &b.graph.Functions[i]; f.Name == n.Op && f.Domain == n.Domain && f.Overload == n.Overload {
			return f
		}
	}
	return nil
}

// inline adds the nodes of a function in the place of node n.
func (b *builder) inline(n onnx.Node, f *onnx.Function, attributes map[string]onnx.Attribute, depth int) error {
	inner := &scope{prefix: n.Name + "/", values: map[string]string{}, attributes: map[string]onnx.Attribute{}}
	for name, a := range f.Defaults {
		inner.attributes[name] = a
	}
	for name, a := range attributes {
		inner.attributes[name] = a
	}
	bind := func(formal, given []string) {
		for i, name := range formal {
			inner.values[name] = ""
			if i < len(given) {
				inner.values[name] = given[i]
			}
		}
	}
	bind(f.Inputs, n.Inputs)
	for i, name := range f.Outputs {
		if i < len(n.Outputs) && n.Outputs[i] != "" {
			inner.values[name] = n.Outputs[i]
		}
	}
	opsets := f.Opsets
	if len(opsets) == 0 {
		opsets = b.graph.Opsets
	}
	return b.addNodes(f.Nodes, opsets, inner, depth+1)
}

// sort orders the nodes so that inputs come first, otherwise as the file does, and leaves out those that no
// output needs.
func (b *builder) sort() error {
	m := b.m
	source := make([]int, len(m.names)) // the node of a value, from 1 on
	for i, n := range m.nodes {
		for _, out := range n.out {
			if out >= 0 {
				source[out] = i + 1
			}
		}
	}
	needed := make([]bool, len(m.nodes))
	var stack []int
	need := func(value int) {
		if at := source[value] - 1; at >= 0 && !needed[at] {
			needed[at] = true
			stack = append(stack, at)
		}
	}
	for _, out := range m.outputs {
		need(out.number)
	}
	users, waits := make([][]int, len(m.nodes)), make([]int, len(m.nodes))
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := m.nodes[at]
		for _, in := range n.in {
			if in < 0 {
				continue
			}
			if !b.made[in] {
				return errkind.Errorf(storage.ErrState, "node %s (%s): nothing computes its input %q", n.name, n.op, m.names[in])
			}
			if from := source[in] - 1; from >= 0 {
				users[from] = append(users[from], at)
				waits[at]++
			}
			need(in)
		}
	}
	ready := &queue{}
	for i := range m.nodes {
		if needed[i] && waits[i] == 0 {
			heap.Push(ready, i)
		}
	}
	var order []*node
	for ready.Len() > 0 {
		at := heap.Pop(ready).(int)
		order = append(order, m.nodes[at])
		for _, user := range users[at] {
			if waits[user]--; waits[user] == 0 {
				heap.Push(ready, user)
			}
		}
	}
	for i, n := range m.nodes {
		if needed[i] && waits[i] > 0 {
			return errkind.Errorf(storage.ErrState, "node %s (%s) is in a cycle of nodes, each an input of the next", n.name, n.op)
		}
	}
	m.nodes = order
	return nil
}

// A queue yields its smallest number first.
type queue struct{ sort.IntSlice }

func (q *queue) Push(x any) { q.IntSlice = append(q.IntSlice, x.(int)) }

func (q *queue) Pop() any {
	last := len(q.IntSlice) - 1
	x := q.IntSlice[last]
	q.IntSlice = q.IntSlice[:last]
	return x
}

// name finds the texts and names of columns that values stand for.
func (b *builder) name() {
	columns := map[int][]string{}
	for _, n := range b.m.nodes {
		n.texts = make([][]string, max(1, len(n.in)))
		for i, in := range n.in {
			if in >= 0 {
				n.texts[i] = b.texts[in]
			}
		}
		for i, out := range n.out {
			if out >= 0 {
				b.texts[out] = n.textsOf(i)
			}
		}
		if n.op == "ZipMap" && len(n.out) > 0 {
			columns[n.out[0]] = n.columnsOf()
		}
	}
	for i, out := range b.m.outputs {
		b.m.outputs[i].Texts, b.m.outputs[i].Classes = b.texts[out.number], columns[out.number]
	}
}

// fold computes what follows from constants alone, except where it is large.
func (b *builder) fold() {
	m := b.m
	kept := m.nodes[:0]
	for _, n := range m.nodes {
		if n.rule.random || !m.allKnown(n, m.known) || !b.foldable(n) {
			kept = append(kept, n)
			continue
		}
		var out []*tensor.Tensor
		if tensor.Try(func() { tensor.NoGrad(func() { out = n.compute(m.operands(n, m.known), false) }) }) != nil {
			kept = append(kept, n) // a prediction returns the same error
			continue
		}
		for i, at := range n.out {
			if at >= 0 && i < len(out) {
				m.known[at], m.learnt[at] = out[i], m.isLearnt(n)
			}
		}
	}
	m.nodes = slices.Clip(kept)
}

// isLearnt reports whether the outputs of a node have the elements of an initializer in another order.
func (m *Model) isLearnt(n *node) bool {
	switch n.op {
	case "Identity", "Cast", "Gather", "Slice", "Split", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand":
		return m.learnt[n.in[0]]
	}
	return false
}

// foldable reports whether the outputs of a node of constants are small, which a run without elements tells.
func (b *builder) foldable(n *node) bool {
	bytes := 0
	err := tensor.Try(func() {
		for _, y := range n.compute(b.m.operands(n, b.m.known), true) {
			if y != nil {
				bytes += y.Len() * y.DType().Size()
			}
		}
	})
	if err != nil || bytes < 0 || b.folded+bytes > maxFolded+2*int(b.graph.Size) {
		return false
	}
	b.folded += bytes
	return true
}

// uses counts the nodes and outputs that use each value.
func (m *Model) uses() []int {
	uses := make([]int, len(m.names))
	for _, n := range m.nodes {
		for _, in := range n.in {
			if in >= 0 {
				uses[in]++
			}
		}
	}
	for _, out := range m.outputs {
		uses[out.number]++
	}
	return uses
}

// removeUnused leaves out nodes and constants that joining has made superfluous.
func (b *builder) removeUnused() {
	m := b.m
	for {
		uses := m.uses()
		n := len(m.nodes)
		m.nodes = slices.DeleteFunc(m.nodes, func(n *node) bool {
			return !slices.ContainsFunc(n.out, func(out int) bool { return out >= 0 && uses[out] > 0 })
		})
		if len(m.nodes) == n {
			for at, count := range uses {
				if count == 0 {
					m.known[at] = nil
				}
			}
			return
		}
	}
}

// keepWeights makes parameters of the constants of floats, which move to another device with the model.
func (b *builder) keepWeights() {
	m := b.m
	for at, x := range m.known {
		if x != nil && x.DType().IsFloat() && x.Len() > 1 {
			m.Weights[m.names[at]] = nn.NewParameter(x.Contiguous().Array())
		}
	}
}

// fixedBatch returns the number of samples that all inputs demand, or 0.
func (b *builder) fixedBatch() int {
	batch := 0
	for i, in := range b.m.inputs {
		if len(in.Shape) == 0 || in.Shape[0].Size < 1 || i > 0 && in.Shape[0].Size != batch {
			return 0
		}
		batch = in.Shape[0].Size
	}
	return batch
}
