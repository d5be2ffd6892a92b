package onnxgraph

import (
	"slices"

	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/tensor"
)

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

// distribute adds the layer of a node of one value that has the samples and their steps on the first axis, such as frames of videos: a layer of each
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
		if !l.moveConstants(n, moved, p, inner) {
			return false
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

// moveConstants gives the constants beside a value its axes, with the samples first. It reports false for constants that differ along an axis that the
// samples share.
func (l *lowering) moveConstants(n, moved *node, p place, shared bool) bool {
	for i, in := range n.in {
		x := l.m.known[in]
		if x == nil || x.Len() == 1 {
			continue
		}
		if x.Rank() > p.rank {
			return false
		}
		x = x.Reshape(slices.Concat(repeat(1, p.rank-x.Rank()), x.Shape())...)
		if size := x.Size(p.axis); size != 1 && shared {
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

// placedOutput returns the source of the output of a layer with the samples of its value at p.
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
