package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
)

// All fusion of recorded operations is decided here, when the backward pass reaches
// them: an activation or a dropout whose operand nothing else uses is differentiated
// together with the product, convolution or normalization that computed the operand,
// or with the product of the next linear layer, where a GPU's library has the mask of a ReLU;
// a ReLU also with the maximum pool of its result.

// A fusable operation applies an epilogue to its result, and can compute the gradient
// through it in the same kernel.
type fusable interface {
	Op
	epilogue() epilogue
	withEpilogue(e epilogue) Op
}

// An epilogue is applied to the result z of an operation: act(z), and after a relu
// perhaps a dropout.
type epilogue struct {
	act     Activation
	drop    float64 // the probability; 0 for no dropout
	stores  bool    // whether z is the second result of the operation
	operand *Tensor // z, if the gradient of act needs it and the operation does not store it
}

// then returns e followed by op, and false if no kernel computes the gradient of both.
func (e epilogue) then(op Op) (epilogue, bool) {
	switch op := op.(type) {
	case unaryOp:
		if act, ok := activationOf[op.f]; ok && e == (epilogue{}) {
			return epilogue{act: act}, true
		}
	case dropout:
		if e.act == ReLUActivation && e.drop == 0 {
			return epilogue{act: e.act, drop: op.p}, true
		}
	}
	return e, false
}

// activationOf lists the activations by their kernels.
var activationOf = map[*kernels.Kernel]Activation{}

func init() {
	for act := range activations {
		activationOf[act.Kernel()] = act
	}
}

// fused returns the operation whose Backward computes the gradient of n, its operands,
// and the other operations that it includes.
func (p *pass) fused(n *node) (op Op, in []*Tensor, producers []*node) {
	if op, done := p.withoutActivation(n); done || p.CreateGraph || !endsFusion(n.op) {
		return op, n.operands(), nil
	}
	after := []Op{n.op}
	for last := n; ; {
		x := last.operands()[0]
		if !p.usedOnce(x) {
			return n.op, n.operands(), nil
		}
		producer := x.node
		producers = append(producers, producer)
		if f, ok := producer.op.(fusable); ok {
			e := f.epilogue()
			for i := len(after) - 1; i >= 0; i-- {
				if e, ok = e.then(after[i]); !ok {
					return n.op, n.operands(), nil
				}
			}
			if e.act.OfInput() {
				e.operand = x
			}
			return f.withEpilogue(e), producer.operands(), producers
		}
		if !endsFusion(producer.op) {
			return n.op, n.operands(), nil
		}
		after, last = append(after, producer.op), producer
	}
}

// usedOnce reports whether a recorded operation computed x, and one operation alone, whose
// gradient is next, uses it.
func (p *pass) usedOnce(x *Tensor) bool {
	n := x.node
	return n != nil && n.consumed == 1 && x.onGrad == nil && !n.released && p.grads[x] == nil && !p.isTarget(x) && n.currentVersion() == n.version
}

// An activationDifferentiator differentiates the activation by which another operation computed its operand, too.
type activationDifferentiator interface {
	Op
	// through returns the operation with the gradient of its operand passed on through the activation of before, which
	// computed it, for results out and their gradients; or nil if no kernel computes both.
	through(before fusable, out, grads []*Tensor) Op
}

// throughActivation returns op as an operation that also differentiates the activation by which another computed in[0],
// and notes it for that operation, if one kernel computes both.
func (p *pass) throughActivation(op Op, out, grads, in []*Tensor) Op {
	last, ok := op.(activationDifferentiator)
	if !ok || p.CreateGraph || !p.needs(in[0]) || !p.usedOnce(in[0]) {
		return op
	}
	n := in[0].node
	before, ok := n.op.(fusable)
	if !ok {
		return op
	}
	through := last.through(before, out, grads)
	if through == nil {
		return op
	}
	p.activated = append(p.activated, n)
	return through
}

// withoutActivation returns the operation of n without its activation, if that has been differentiated.
func (p *pass) withoutActivation(n *node) (op Op, done bool) {
	i := slices.Index(p.activated, n)
	if i < 0 {
		return n.op, false
	}
	p.activated = slices.Delete(p.activated, i, i+1)
	return n.op.(fusable).withEpilogue(epilogue{}), true
}

// endsFusion reports whether op may be part of an epilogue.
func endsFusion(op Op) bool {
	switch op := op.(type) {
	case unaryOp:
		_, ok := activationOf[op.f]
		return ok
	case dropout:
		return op.p > 0
	}
	return false
}
