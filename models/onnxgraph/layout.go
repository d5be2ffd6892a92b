package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
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

// output returns the source of the output of a node with the samples and the shape as axes.
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

// reshaped returns s with axes of other sizes, each a product of factors that follow one another; ok is false where a factor would have
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

// A chain adds layers that take the output of the last one.
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
