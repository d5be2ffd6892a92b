package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/tensor"
)

// Layers of package nn have the samples on the first axis. Operators of ONNX have them anywhere, such as (steps, samples, features) in PyTorch's
// attention, or (samples·heads, steps, size). Transpose, Reshape and their kin are therefore no layers: they change the axes that a source says
// its value has, and layers that need another order of the elements are added where it is computed with.

// A factor divides an axis: the samples, or a part of a layer's output.
type factor struct {
	id       int // 0 of the samples
	size     int
	repeated bool // the elements are the same at each place, and the node has them once
}

// A source is the node of a description that computes the elements of a value.
type source struct {
	name   string
	shape  []int      // of a sample of the node's output
	memory []factor   // of that shape, without sizes of 1
	axes   [][]factor // of the value
	view   string     // the name of the last node that changed the axes
	states bool       // the value joins states, which are in lowering.states
}

const samplesID = 0

// output returns the source of the output of a node, whose axes are the samples and the shape.
func (l *lowering) output(name string, shape []int) source {
	s := source{name: name, shape: shape, axes: [][]factor{{{id: samplesID, size: l.batch}}}}
	for _, size := range shape {
		axis := l.factors(size)
		s.memory, s.axes = append(s.memory, axis...), append(s.axes, axis)
	}
	return s
}

// factors returns new factors of sizes other than 1.
func (l *lowering) factors(sizes ...int) (list []factor) {
	for _, size := range sizes {
		if size != 1 {
			l.lastFactor++
			list = append(list, factor{id: l.lastFactor, size: size})
		}
	}
	return list
}

// samplesAxis returns the axis with the samples, and the number of elements of the factors before and after them on it.
func (s source) samplesAxis() (axis, before, after int) {
	for axis, list := range s.axes {
		if at := slices.IndexFunc(list, func(f factor) bool { return f.id == samplesID }); at >= 0 {
			return axis, sizeOf(list[:at]), sizeOf(list[at+1:])
		}
	}
	return -1, 1, 1
}

func sizeOf(list []factor) int {
	size := 1
	for _, f := range list {
		size *= f.size
	}
	return size
}

// settled returns s with the place of a single sample, which the sizes do not tell: the first axis of size 1, or else the first.
func (s source) settled() source {
	if s.states || len(s.axes) == 0 {
		return s
	}
	if at, _, _ := s.samplesAxis(); at < 0 || s.axes[at][slices.IndexFunc(s.axes[at], func(f factor) bool { return f.id == samplesID })].size != 1 {
		return s
	}
	s = s.withoutSamples()
	return s.withSample(max(0, slices.IndexFunc(s.axes, func(list []factor) bool { return len(list) == 0 })))
}

// withSample returns s, which has no place of the samples, with a single sample on an axis.
func (s source) withSample(axis int) source {
	s.axes = slices.Clone(s.axes)
	s.axes[axis] = append([]factor{{id: samplesID, size: 1}}, s.axes[axis]...)
	return s
}

// withoutSamples returns s without the place of the samples.
func (s source) withoutSamples() source {
	axes := make([][]factor, len(s.axes))
	for i, list := range s.axes {
		axes[i] = slices.DeleteFunc(slices.Clone(list), func(f factor) bool { return f.id == samplesID })
	}
	s.axes = axes
	return s
}

// align gives a single sample one place in values of as many axes, where the sizes tell none.
func (l *lowering) align(values []int) {
	sources := make([]source, len(values))
	for i, value := range values {
		sources[i] = l.sources[value].withoutSamples()
		if l.batch != 1 || len(sources[i].axes) != len(sources[0].axes) {
			return
		}
	}
	for axis := range sources[0].axes {
		if !slices.ContainsFunc(sources, func(s source) bool { return len(s.axes[axis]) == 0 }) {
			for i, value := range values {
				l.sources[value] = sources[i].withSample(axis)
				delete(l.ordered, [2]int{value, 0})
				delete(l.ordered, [2]int{value, 1})
			}
			return
		}
	}
}

// transposed returns s with its axes in another order.
func (s source) transposed(order []int) (source, bool) {
	if len(order) != len(s.axes) {
		return s, false
	}
	axes := make([][]factor, len(order))
	for i, from := range order {
		axes[i] = s.axes[from]
	}
	s.axes = axes
	return s.settled(), true
}

// reshaped returns s with axes of other sizes, of which each is a product of factors that follow one another; ok is false where a factor would have
// to be in two axes.
func (l *lowering) reshaped(s source, shape []int) (to source, ok bool) {
	var queue []factor
	for _, axis := range s.axes {
		for _, f := range axis {
			if f.id != samplesID || f.size != 1 {
				queue = append(queue, f)
			}
		}
	}
	memory, axes := slices.Clone(s.memory), make([][]factor, len(shape))
	for i, left := range shape {
		for left > 1 {
			switch {
			case len(queue) == 0:
				return s, false
			case left%queue[0].size == 0:
				axes[i], left, queue = append(axes[i], queue[0]), left/queue[0].size, queue[1:]
			case queue[0].size%left == 0 && queue[0].id != samplesID:
				parts := l.factors(left, queue[0].size/left)
				if at := slices.Index(memory, queue[0]); at >= 0 {
					memory = slices.Replace(memory, at, at+1, parts...)
				} else {
					parts[0].repeated, parts[1].repeated = true, true
				}
				queue = slices.Concat(parts, queue[1:])
			default:
				return s, false
			}
		}
	}
	if l.batch == 1 && len(axes) > 0 {
		axes[0] = append([]factor{{id: samplesID, size: 1}}, axes[0]...)
	}
	// Factors that were divided by an earlier view are not divided in s, which others may have.
	return source{name: s.name, shape: s.shape, memory: memory, axes: axes, view: s.view}.settled(), len(queue) == 0
}

// viewOf are the operators that change the axes of a value, or nothing.
var viewOf = map[string]func(l *lowering, n *node, s source) (source, bool){
	"Identity": same,
	"Dropout":  same,
	"ZipMap":   same,
	"Transpose": func(_ *lowering, n *node, s source) (source, bool) {
		order := n.integers("perm")
		if order == nil {
			order = rest(0, len(s.axes))
			slices.Reverse(order)
		}
		return s.transposed(order)
	},
	"Expand": (*lowering).expanded, "Tile": (*lowering).expanded,
	"Reshape": reshapedTo, "Flatten": reshapedTo, "Squeeze": reshapedTo, "Unsqueeze": reshapedTo,
	"Concat": func(_ *lowering, n *node, s source) (source, bool) { return s, len(n.in) == 1 },
	"Cast": func(l *lowering, n *node, s source) (source, bool) {
		from, to := l.types[n.in[0]], l.types[n.out[0]]
		return s, from == to || from.IsFloat() && to.IsFloat() // the layers compute with one type of floats
	},
}

// expanded repeats elements along axes of size 1.
func (l *lowering) expanded(n *node, s source) (source, bool) {
	shape := l.shapes[n.out[0]]
	axes := make([][]factor, len(shape)-len(s.axes), len(shape))
	s.axes = append(axes, s.axes...)
	for i, axis := range s.axes {
		if size := sizeOf(axis); size != shape[i] && size != 1 || len(axis) > 0 && size != shape[i] {
			return s, false
		}
		if len(axis) == 0 {
			s.axes[i] = l.factors(shape[i])
			for j := range s.axes[i] {
				s.axes[i][j].repeated = true
			}
		}
	}
	return s, true
}

func same(_ *lowering, _ *node, s source) (source, bool) { return s, true }

func reshapedTo(l *lowering, n *node, s source) (source, bool) {
	return l.reshaped(s, l.shapes[n.out[0]])
}

// passes notes nodes that no layer needs, because they change the axes of a value at most.
func (l *lowering) passes(n *node) bool {
	if len(n.in) == 0 || len(n.out) == 0 || n.in[0] < 0 {
		return false
	}
	if l.passesStates(n) {
		return true
	}
	view, from := viewOf[n.op], l.sources[n.in[0]]
	if view == nil || from.states || from.axes == nil {
		return false
	}
	to, ok := view(l, n, from)
	if ok {
		if n.op != "Identity" && n.op != "Dropout" {
			to.view = n.name
		}
		l.sources[n.out[0]] = to
	}
	return ok
}

// sampleFirst returns the number of the value with the samples on an axis of their own before the others, which keep their order. It adds the
// layers that bring the elements into that order. Elements that are repeated along an axis may be there once where the layer repeats them.
func (l *lowering) sampleFirst(value int, broadcast bool) int {
	key := [2]int{value}
	if broadcast {
		key[1] = 1
	}
	if made, ok := l.ordered[key]; ok {
		return made
	}
	s := l.sources[value]
	at, _, _ := s.samplesAxis()
	var shape, once, parts, counts []int // of a sample: as it is, with repeated axes of size 1, and of the factors without and with repetition
	var order []factor
	for i, axis := range s.axes {
		size, kept := 1, 1
		for _, f := range axis {
			if f.id == samplesID {
				continue
			}
			size *= f.size
			if counts = append(counts, 1); f.repeated {
				parts, counts[len(counts)-1] = append(parts, 1), f.size
				continue
			}
			order, parts, kept = append(order, f), append(parts, f.size), kept*f.size
		}
		if i != at || size > 1 {
			shape, once = append(shape, size), append(once, kept)
			broadcast = broadcast && (kept == 1 || kept == size)
		}
	}
	c := chain{l, s.name, s.view, s.shape}
	if !slices.Equal(order, s.memory) {
		sizes, axes := s.runs(order)
		c.reshape(sizes)
		c.permute(axes)
	}
	switch {
	case broadcast:
		shape = once
	case product(counts) > 1:
		c.reshape(parts)
		c.repeat(counts, l.types[value])
	}
	c.reshape(shape)
	made := value
	if at != 0 || len(s.axes[0]) != 1 || c.name != s.name {
		made = l.value(c.name, append([]int{l.batch}, shape...), l.types[value])
	}
	l.ordered[key] = made
	return made
}

// A chain adds layers, each of which takes the output of the one before.
type chain struct {
	*lowering
	name  string // of the last layer
	view  string // the names of the layers
	shape []int  // of a sample
}

func (c *chain) add(kind string, settings map[string]any, more ...any) {
	from := append([]any{c.name}, more...)
	c.name = c.describe(c.view, &layer{name: kind, settings: settings}, from)
}

func (c *chain) reshape(shape []int) {
	switch {
	case slices.Equal(shape, c.shape):
	case len(shape) == 0:
		c.reshape([]int{1})
		c.add("select", map[string]any{"index": 0, "axis": 1})
	case len(shape) == 1 && len(c.shape) > 0:
		c.add("flatten", map[string]any{})
	default:
		c.add("reshape", map[string]any{"shape": shape})
	}
	c.shape = shape
}

func (c *chain) permute(axes []int) {
	c.add("permute", map[string]any{"axes": axes})
	before := c.shape
	c.shape = make([]int, len(axes))
	for i, axis := range axes {
		c.shape[i] = before[axis-1]
	}
}

// repeat repeats the elements along axes of size 1: a product with ones.
func (c *chain) repeat(counts []int, t dtype.Type) {
	if !t.IsFloat() {
		tensor.Fail("layers", dtype.ErrType, "repetition of %v", t)
	}
	from := c.name
	ones := map[string]any{"values": slices.Repeat([]float64{1}, product(counts)), "shape": slices.Clone(counts), "dtype": t.String()}
	c.add("constant", ones)
	constant := c.name
	c.name = from
	c.add("function", map[string]any{"name": "mul"}, constant)
	for i, count := range counts {
		counts[i] = count * c.shape[i]
	}
	c.shape = counts
}

// runs returns the sizes of the memory of s in parts that stay together in another order of its factors, and that order of the parts, from 1 on.
func (s source) runs(order []factor) (sizes, axes []int) {
	var ends []int // of the axes of the layer's output
	for size, i := 1, 0; i < len(s.shape); i++ {
		size *= s.shape[i]
		ends = append(ends, size)
	}
	var first []int // place in the order of the first factor of each part
	total := 1
	for i, f := range s.memory {
		at := slices.Index(order, f)
		if i > 0 && at == slices.Index(order, s.memory[i-1])+1 && !slices.Contains(ends, total) {
			sizes[len(sizes)-1] *= f.size
		} else {
			sizes, first = append(sizes, f.size), append(first, at)
		}
		total *= f.size
	}
	for i := range first {
		axes = append(axes, i+1)
	}
	slices.SortFunc(axes, func(a, b int) int { return first[a-1] - first[b-1] })
	return sizes, axes
}

// A place is where a node has its samples.
type place struct {
	axis, before, after int // as of samplesAxis
	rank                int
}

// alone reports whether the samples have the first axis to themselves, as the layers have them.
func (p place) alone() bool { return p.axis == 0 && !p.merged() }

// merged reports whether the samples share their axis.
func (p place) merged() bool { return p.before*p.after > 1 }

// of returns the axis, with the samples first, of an axis of a value.
func (p place) of(axis int) int {
	axis = (axis + p.rank) % p.rank
	switch {
	case p.merged() || axis < p.axis:
		return axis + 1
	case axis == p.axis:
		return 0
	}
	return axis
}

// axisOf are the operators with an axis that may have the samples elsewhere, and the axis that they have by default.
var axisOf = map[string]int{"Softmax": -1, "LogSoftmax": -1, "LayerNormalization": -1, "RMSNormalization": -1, "Concat": 1, "Split": 0, "Gather": 0}

// anywhere reports whether the layer of an operator may have the samples elsewhere.
func anywhere(op string) bool {
	_, axis := axisOf[op]
	return axis || plainLayers[op]+merges[op]+functions[op]+reduced[op] != "" || op == "MatMul" || op == "Gemm" || op == "Slice" || slices.Contains(activations, op)
}

// An arrangement says where the values of a node have the samples.
type arrangement struct {
	*node                                        // with the samples first in all values
	source func(name string, shape []int) source // of an output with that shape of a sample
}

// arranged returns a node with the samples first; ok is false where no layer computes it so.
func (l *lowering) arranged(n *node) (a arrangement, ok bool) {
	moved := *n
	moved.in = slices.Clone(n.in)
	var values []int // indices of the inputs that are computed
	for i, in := range n.in {
		if in < 0 || l.m.known[in] != nil || l.sources[in].states {
			continue
		}
		if l.sources[in].axes == nil {
			return a, false
		}
		values = append(values, i)
	}
	p, ok := l.commonPlace(n, values)
	if !ok {
		var all []int
		for _, i := range values {
			all = append(all, n.in[i])
		}
		l.align(all)
		if p, ok = l.commonPlace(n, values); !ok {
			return a, false
		}
	}
	if len(values) == 1 && l.elementwise(n) {
		s := l.sources[n.in[values[0]]]
		shape := append([]int{l.batch}, s.shape...)
		moved.in[values[0]], moved.out = l.value(s.name, shape, l.types[n.in[values[0]]]), []int{l.value("", shape, l.types[n.out[0]])}
		return arrangement{&moved, func(name string, _ []int) source {
			s := s
			s.name, s.view = name, name
			return s
		}}, true
	}
	for _, i := range values {
		moved.in[i] = l.sampleFirst(n.in[i], functions[n.op]+merges[n.op] != "" && len(values) > 1)
	}
	_, recurrent := statesOf[n.op]
	if x := l.shapes[n.in[0]]; recurrent && (len(x) != 3 || x[1] != l.batch || p.merged()) {
		return a, false // the steps come first
	}
	if !p.alone() && len(values) > 0 && !recurrent {
		if !anywhere(n.op) || !l.move(n, &moved, p, values[0]) {
			return a, false
		}
		p = l.after(n, p)
	} else {
		p = place{}
	}
	return arrangement{&moved, func(name string, shape []int) source { return l.placedOutput(name, shape, p) }}, true
}

// commonPlace returns where inputs of a node have the samples; ok is false if that is not the same.
func (l *lowering) commonPlace(n *node, inputs []int) (p place, ok bool) {
	for i, in := range inputs {
		s := l.sources[n.in[in]]
		at := place{rank: len(s.axes)}
		at.axis, at.before, at.after = s.samplesAxis()
		if i > 0 && at != p && (!at.alone() || !p.alone()) {
			return p, false
		}
		p = at
	}
	return p, true
}

// elementwise reports whether a node computes each element by itself, and has no other constants than numbers.
func (l *lowering) elementwise(n *node) bool {
	for _, in := range n.in[1:] {
		if in >= 0 && l.m.known[in] != nil && l.m.known[in].Len() != 1 || len(n.in) > 2 && n.op != "Clip" {
			return false
		}
	}
	if first := l.m.known[n.in[0]]; first != nil && first.Len() != 1 || len(n.out) != 1 {
		return false
	}
	return plainLayers[n.op]+merges[n.op]+functions[n.op] != "" || slices.Contains(activations, n.op)
}

// activations are the operators of single elements that have settings.
var activations = []string{"Gelu", "Swish", "LeakyRelu", "Elu", "Celu", "HardSigmoid", "Clip"}

// distribute adds the layer of a node whose one value has the samples and their steps on the first axis, such as frames of videos: a layer of each
// step. It reports whether there is one.
func (l *lowering) distribute(n *node, rule func(l *lowering, n *node) *layer) bool {
	s := l.sources[n.in[0]]
	at, before, after := s.samplesAxis()
	if at != 0 || before != 1 || after == 1 || len(n.out) != 1 || slices.ContainsFunc(n.in[1:], func(in int) bool { return in >= 0 && l.m.known[in] == nil }) {
		return false
	}
	batch, nodes := l.batch, len(l.nodes)
	l.batch *= after
	made := rule(l, n)
	l.batch = batch
	if made == nil || made.more != nil || made.index != 0 || !slices.Equal(made.from, n.in[:1]) || len(l.nodes) != nodes || l.shapes[n.out[0]][0] != batch*after {
		return false
	}
	inner := map[string]any{made.name: map[string]any{}}
	if made.settings != nil {
		inner[made.name] = made.settings
	}
	outer := &layer{name: "time_distributed", settings: map[string]any{"layer": inner}, from: []int{l.sampleFirst(n.in[0], false)}, weights: map[string]*tensor.Tensor{}}
	for name, w := range made.weights {
		outer.weights["layer."+name] = w
	}
	p := place{axis: 0, before: 1, after: after, rank: len(s.axes)}
	moved := *n
	moved.out = []int{l.value("", p.shape(l.shapes[n.out[0]], batch), l.types[n.out[0]])}
	return l.add(outer, n, 0, arrangement{&moved, func(name string, shape []int) source { return l.placedOutput(name, shape, p) }})
}

// move gives a node the axes that its values have with the samples first.
func (l *lowering) move(n, moved *node, p place, first int) bool {
	inner := p.merged() && l.batch > 1 // operations along the axis with the samples would mix them
	crosses := func(axis int) bool { return p.of(axis) == 0 || inner && (axis+p.rank)%p.rank == p.axis }
	moved.attributes = map[string]onnx.Attribute{}
	for name, a := range n.attributes {
		moved.attributes[name] = a
	}
	set := func(name string, axes ...int) {
		a := onnx.Attribute{}
		for _, axis := range axes {
			a.Ints = append(a.Ints, int64(axis))
		}
		moved.attributes[name] = a
	}
	if otherwise, ok := axisOf[n.op]; ok && !(n.op == "Gather" && first == 1) {
		if n.opset < 13 && (n.op == "Softmax" || n.op == "LogSoftmax") {
			otherwise = 1
		}
		axis := n.integer("axis", otherwise)
		if crosses(axis) {
			return false
		}
		set("axis", p.of(axis))
	}
	switch {
	case reduced[n.op] != "":
		axes := l.axesOf(n)
		if slices.ContainsFunc(axes, crosses) {
			return false
		}
		for i, axis := range axes {
			axes[i] = p.of(axis)
		}
		set("axes", axes...)
		moved.in = moved.in[:1]
	case n.op == "Slice":
		_, _, axes, _ := l.sliced(n)
		if len(axes) != 1 || crosses(axes[0]) {
			return false
		}
		set("axes", p.of(axes[0]))
	case n.op == "Gemm" || n.op == "MatMul":
		if crosses(-1) || l.m.known[n.in[1]] == nil && crosses(-2) || l.m.known[n.in[0]] != nil {
			return false
		}
	case functions[n.op]+merges[n.op] != "":
		for i, in := range n.in {
			x := l.m.known[in]
			if x == nil || x.Len() == 1 {
				continue
			}
			if x.Rank() > p.rank {
				return false
			}
			x = x.Reshape(slices.Concat(repeat(1, p.rank-x.Rank()), x.Shape())...)
			if size := x.Size(p.axis); size != 1 && inner {
				return false
			}
			if p.merged() {
				x = x.Unsqueeze(0)
			} else {
				order := slices.DeleteFunc(rest(0, p.rank), func(axis int) bool { return axis == p.axis })
				x = x.Permute(append([]int{p.axis}, order...)...)
			}
			moved.in[i] = l.constantValue(x.Contiguous())
		}
	}
	moved.out = slices.Clone(n.out)
	for i, out := range n.out {
		if out >= 0 && l.shapes[out] != nil {
			moved.out[i] = l.value("", l.after(n, p).shape(l.shapes[out], l.batch), l.types[out])
		}
	}
	return true
}

// after returns where the outputs of a node have the samples.
func (l *lowering) after(n *node, p place) place {
	rank := p.rank
	dropped := func(axis int) {
		if (axis+rank)%rank < p.axis {
			p.axis--
		}
	}
	switch {
	case n.op == "Gather" && l.m.known[n.in[0]] != nil:
	case n.op == "Gather" && len(l.shapes[n.in[1]]) == 0:
		dropped(n.integer("axis", 0))
	case reduced[n.op] != "" && n.integer("keepdims", 1) == 0:
		axis := p.axis
		for _, reducedAxis := range l.axesOf(n) {
			if reducedAxis < axis {
				p.axis--
			}
		}
	}
	return p
}

// shape returns the shape, with the samples first, of a value.
func (p place) shape(shape []int, batch int) []int {
	shape = slices.Clone(shape)
	if p.merged() {
		shape[p.axis] /= batch
		return append([]int{batch}, shape...)
	}
	return append([]int{batch}, slices.Delete(shape, p.axis, p.axis+1)...)
}

// placedOutput returns the source of the output of a layer whose value has the samples at p.
func (l *lowering) placedOutput(name string, shape []int, p place) source {
	s := l.output(name, shape)
	if s.view = name; p.alone() {
		return s
	}
	samples, axes := s.axes[0], slices.Clone(s.axes[1:])
	if !p.merged() {
		s.axes = slices.Insert(axes, p.axis, samples)
		return s.settled()
	}
	at := 0
	for _, axis := range axes[:p.axis] {
		at += len(axis)
	}
	before, after := l.factors(p.before), l.factors(p.after)
	s.memory = slices.Replace(s.memory, at, at+len(axes[p.axis]), slices.Concat(before, after)...)
	axes[p.axis] = slices.Concat(before, samples, after)
	s.axes = axes
	return s.settled()
}

// value adds a value that a node of the description computes, and returns its number. The first axis of the shape has the samples.
func (l *lowering) value(name string, shape []int, t dtype.Type) int {
	at := len(l.shapes)
	l.shapes, l.types, l.uses = append(l.shapes, shape), append(l.types, t), append(l.uses, 0)
	l.m.known, l.m.names = append(l.m.known, nil), append(l.m.names, "")
	if name != "" {
		l.sources[at] = l.output(name, shape[1:])
	}
	return at
}

// then adds a layer of values, and returns the number of what it computes.
func (l *lowering) then(view, kind string, settings map[string]any, shape []int, t dtype.Type, from ...int) int {
	return l.thenLayer(view, &layer{name: kind, settings: settings, from: from}, shape, t)
}

func (l *lowering) thenLayer(view string, made *layer, shape []int, t dtype.Type) int {
	names, ok := l.namesOf(made.from)
	if !ok {
		tensor.Fail("layers", dtype.ErrType, "a value without a layer")
	}
	return l.value(l.describe(view, made, names), shape, t)
}

// constantValue returns the number of a new constant.
func (l *lowering) constantValue(x *tensor.Tensor) int {
	at := l.value("", x.Shape(), x.DType())
	l.m.known[at] = x
	return at
}
