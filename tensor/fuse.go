package tensor

import "github.com/h5dnn/h5dnn/kernels"

// All fusion of recorded operations is decided here, when the backward pass reaches
// them: an activation or a dropout whose operand nothing else uses is differentiated
// together with the product, convolution or normalization that computed the operand.

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
	if p.CreateGraph || !endsFusion(n.op) {
		return n.op, n.in, nil
	}
	after := []Op{n.op}
	for last := n; ; {
		x := last.in[0]
		producer := x.node
		if producer == nil || producer.consumed != 1 || producer.released || p.grads[x] != nil || p.isTarget(x) || version(producer.out, producer.in) != producer.version {
			return n.op, n.in, nil
		}
		producers = append(producers, producer)
		if f, ok := producer.op.(fusable); ok {
			e := f.epilogue()
			for i := len(after) - 1; i >= 0; i-- {
				if e, ok = e.then(after[i]); !ok {
					return n.op, n.in, nil
				}
			}
			if e.act.OfInput() {
				e.operand = x
			}
			return f.withEpilogue(e), producer.in, producers
		}
		if !endsFusion(producer.op) {
			return n.op, n.in, nil
		}
		after, last = append(after, producer.op), producer
	}
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
