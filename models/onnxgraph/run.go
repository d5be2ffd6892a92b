package onnxgraph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A plan is what is left to compute for inputs of certain shapes.
type plan struct {
	known []*tensor.Tensor // constants, and values that follow from the shapes
	steps []step
}

// A step computes a node. The values in last are not used after it.
type step struct {
	*node
	last []int
}

// maxPlans bounds the number of shapes that a model remembers.
const maxPlans = 32

// ForwardAll computes the outputs for the inputs, in the order of the graph. A graph that demands a number of
// samples computes others in blocks, the last of which is filled up.
func (m *Model) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	m.checkInputs(inputs)
	if m.batch == 0 || inputs[0].Size(0) == m.batch {
		return m.forward(inputs)
	}
	n := inputs[0].Size(0)
	parts := make([][]*tensor.Tensor, len(m.outputs))
	for first := 0; first < n; first += m.batch {
		rows := min(m.batch, n-first)
		block := make([]*tensor.Tensor, len(inputs))
		for i, x := range inputs {
			block[i] = x.Narrow(0, first, rows)
			if rows < m.batch {
				pads := make([]int, 2*x.Rank())
				pads[len(pads)-1] = m.batch - rows
				block[i] = block[i].PadConstant(0, pads...)
			}
		}
		for i, y := range m.forward(block) {
			if y.Rank() == 0 || y.Size(0) != m.batch {
				m.fail(views.ErrShape, "the output %s has shape %v for a batch of %d, which the graph demands; predict that number of samples", m.outputs[i].Name, y.Shape(), m.batch)
			}
			parts[i] = append(parts[i], y.Narrow(0, 0, rows))
		}
	}
	outputs := make([]*tensor.Tensor, len(parts))
	for i, part := range parts {
		outputs[i] = tensor.Cat(0, part...)
	}
	return outputs
}

func (m *Model) fail(kind error, format string, args ...any) {
	tensor.Fail("onnx", kind, format, args...)
}

// checkInputs fails if the inputs are not those of the graph.
func (m *Model) checkInputs(inputs []*tensor.Tensor) {
	if len(inputs) != len(m.inputs) {
		m.fail(views.ErrShape, "%d inputs; want %s", len(inputs), strings.Join(m.InputNames(), ", "))
	}
	for i, x := range inputs {
		in := m.inputs[i]
		fits := in.Shape == nil || len(in.Shape) == x.Rank()
		for axis, d := range in.Shape {
			fits = fits && (d.Size < 0 || axis == 0 && m.batch > 0 && x.Size(0) > 0 || d.Size == x.Size(axis))
		}
		if !fits {
			m.fail(views.ErrShape, "the input %s has shape %v; want %v", in.Name, x.Shape(), in.Shape)
		}
	}
}

// key describes the shapes and the device of the inputs.
func key(inputs []*tensor.Tensor) string {
	text := make([]byte, 0, 64)
	for _, x := range inputs {
		text = fmt.Append(text, x.Shape())
	}
	return string(fmt.Append(text, inputs[0].Device()))
}

func (m *Model) forward(inputs []*tensor.Tensor) []*tensor.Tensor {
	inputs = slices.Clone(inputs)
	for i, x := range inputs {
		if want := m.inputs[i].DType; want.Valid() && want != x.DType() {
			inputs[i] = x.Cast(want)
		}
	}
	if len(inputs) == 0 {
		return m.record("", inputs)
	}
	shapes := key(inputs)
	if p, ok := m.plans.Load(shapes); ok {
		return m.replay(p.(*plan), inputs)
	}
	return m.record(shapes, inputs)
}

// start returns the values that are there before the first step. Constants are tensors of this call alone, because
// views of a tensor change it.
func (m *Model) start(known, inputs []*tensor.Tensor) []*tensor.Tensor {
	values := slices.Clone(known)
	for at, x := range values {
		if x == nil {
			continue
		}
		if x.Len() > 1 && x.DType().IsFloat() {
			if w := m.Weights[m.names[at]]; w != nil {
				x = w.Tensor
			}
		}
		values[at] = x.Detach()
	}
	for i, in := range m.inputs {
		values[in.number] = inputs[i]
	}
	return values
}

// record computes all nodes, and makes a plan of the shapes of the inputs: a node has its outputs in it if
// they follow from shapes and constants.
func (m *Model) record(shapes string, inputs []*tensor.Tensor) []*tensor.Tensor {
	p := &plan{known: slices.Clone(m.known)}
	values := m.start(m.known, inputs)
	for _, n := range m.nodes {
		fixed := n.rule.ofShape || !n.rule.random && m.allKnown(n, p.known)
		var out []*tensor.Tensor
		if fixed {
			tensor.NoGrad(func() { out = n.compute(detached(m.operands(n, values)), false) })
		} else {
			out = n.compute(m.operands(n, values), false)
			p.steps = append(p.steps, step{node: n})
		}
		for i, at := range n.out {
			if at < 0 {
				continue
			}
			if i < len(out) && out[i] != nil && len(inputs) > 0 && !fixed {
				m.note(out[i].Len() / max(1, inputs[0].Size(0)))
			}
			if i >= len(out) || out[i] == nil {
				tensor.Fail("node "+n.name+" ("+n.op+")", storage.ErrState, "h5dnn does not compute its output %d", i)
			}
			if values[at] = out[i]; fixed {
				p.known[at] = out[i]
			}
		}
	}
	p.findLastUses(m)
	if m.recorded.Add(1) <= maxPlans {
		m.plans.Store(shapes, p)
	}
	return m.results(values)
}

// note keeps the largest number of elements of an intermediate result for a sample.
func (m *Model) note(elements int) {
	for {
		known := m.widest.Load()
		if int64(elements) <= known || m.widest.CompareAndSwap(known, int64(elements)) {
			return
		}
	}
}

// Activations returns the number of elements of the largest intermediate result for a sample in calls so far, and the
// number of samples that the graph demands, or 0.
func (m *Model) Activations() (elements, batch int) { return int(m.widest.Load()), m.batch }

// CheckSamples returns an error if the first axis of an input is the time of a recurrent layer, or the first axis of an output has another size, so that it does not
// count samples, which have types and shapes by input.
func (m *Model) CheckSamples(types []dtype.Type, shapes [][]int) error {
	for _, n := range m.nodes {
		if n.op != "LSTM" && n.op != "GRU" && n.op != "RNN" || n.integer("layout", 0) != 0 || m.batch > 0 {
			continue
		}
		for _, in := range m.inputs {
			if in.number == n.in[0] {
				return fmt.Errorf("the first axis of the input %s is the time of %s, and predictions are of samples along the first axis; export the model with batch_first=True: %w", in.Name, n.op, views.ErrShape)
			}
		}
	}
	if m.batch > 0 {
		return nil
	}
	const samples = 7
	var inputs, outputs []*tensor.Tensor
	for i, t := range types {
		inputs = append(inputs, tensor.NewMeta(t, append([]int{samples}, shapes[i]...)...))
	}
	if tensor.Try(func() { outputs = m.ForwardAll(inputs) }) != nil {
		return nil // a prediction returns the same error
	}
	for i, y := range outputs {
		if y.Rank() == 0 || y.Size(0) != samples {
			return notSamples(m.outputs[i].Name, y.Shape(), samples)
		}
	}
	return nil
}

func notSamples(output string, shape []int, samples int) error {
	return errkind.Errorf(views.ErrShape, "the output %s has shape %v for %d samples, so that its first axis does not count them; export the model with samples first in all outputs", output, shape, samples)
}

func detached(xs []*tensor.Tensor) []*tensor.Tensor {
	xs = slices.Clone(xs)
	for i, x := range xs {
		if x != nil && x.RequiresGrad() {
			xs[i] = x.Detach()
		}
	}
	return xs
}

// findLastUses notes the values that each step uses last.
func (p *plan) findLastUses(m *Model) {
	seen := make([]bool, len(p.known))
	for _, out := range m.outputs {
		seen[out.number] = true
	}
	for _, in := range m.inputs {
		seen[in.number] = true
	}
	for i := len(p.steps) - 1; i >= 0; i-- {
		s := &p.steps[i]
		for _, at := range slices.Concat(s.in, s.out) {
			if at >= 0 && !seen[at] && p.known[at] == nil {
				seen[at] = true
				s.last = append(s.last, at)
			}
		}
	}
}

func (m *Model) results(values []*tensor.Tensor) []*tensor.Tensor {
	outputs := make([]*tensor.Tensor, len(m.outputs))
	for i, out := range m.outputs {
		outputs[i] = values[out.number]
	}
	return outputs
}

// replay computes the steps of a plan, and gives memory back as soon as nothing uses it.
func (m *Model) replay(p *plan, inputs []*tensor.Tensor) []*tensor.Tensor {
	values := m.start(p.known, inputs)
	tape := inputs[0].Tape()
	views := map[storage.Storage]int{} // values by their memory
	for _, x := range values {
		if x != nil { // an input or a constant, which stays
			views[x.Storage()]++
		}
	}
	for _, s := range p.steps {
		out := tape.Scope(func() []*tensor.Tensor { return s.compute(m.operands(s.node, values), false) })
		for i, at := range s.out {
			if at >= 0 {
				values[at] = out[i]
				views[out[i].Storage()]++
			}
		}
		for _, at := range s.last {
			memory := values[at].Storage()
			if views[memory]--; views[memory] == 0 {
				delete(views, memory)
				tape.Release([]*tensor.Tensor{values[at]}, nil)
			}
			values[at] = nil
		}
	}
	return m.results(values)
}

// allKnown reports whether all inputs of n are among the known values.
func (m *Model) allKnown(n *node, known []*tensor.Tensor) bool {
	return !slices.ContainsFunc(n.in, func(in int) bool { return in >= 0 && known[in] == nil })
}

func (m *Model) operands(n *node, values []*tensor.Tensor) []*tensor.Tensor {
	xs := make([]*tensor.Tensor, len(n.in))
	for i, in := range n.in {
		if in >= 0 {
			xs[i] = values[in]
		}
	}
	return xs
}

// compute returns the outputs of n; of a dry run, tensors without elements.
func (n *node) compute(in []*tensor.Tensor, dry bool) []*tensor.Tensor {
	defer n.nameFailure()
	c := &call{node: n, in: in, device: storage.CPU}
	if dry {
		c.device = tensor.Meta
	}
	for _, x := range in {
		if x != nil && x.Device() != storage.CPU {
			c.device = x.Device()
		}
	}
	c.dry = dry
	return n.rule.run(c)
}

// nameFailure, deferred, adds the name of the node to a failure in it.
func (n *node) nameFailure() {
	switch p := recover().(type) {
	case nil:
	case *tensor.Error:
		panic(&tensor.Error{Op: "node " + n.name + " (" + n.op + "): " + p.Op, Err: p.Err})
	default:
		panic(p)
	}
}
