package tensor

import (
	"container/heap"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Grads holds one gradient for each leaf that requires one.
type Grads map[*Tensor]*Tensor

// Gradients returns the derivatives of y, a single recorded element, with
// respect to every leaf it depends on that requires one.
func Gradients(y *Tensor) Grads { return GradientsReady(y, nil) }

// GradientsReady is Gradients that also calls ready, unless it is nil, with each
// leaf and its gradient as soon as that is complete: while the rest is still to be
// computed. ready must not change the gradient.
func GradientsReady(y *Tensor, ready func(leaf, grad *Tensor)) Grads {
	const act = "gradients"
	y.checkAlive(act)
	if y.Len() != 1 || !y.requiresGrad {
		fail(act, storage.ErrState, "of %v; want a single element computed from a leaf that requires a gradient", y)
	}
	p := backwardPass{grads: Grads{y: seed(y)}, tape: y.tape}
	p.push(y)
	if ready != nil {
		p.ready = ready
		p.leaves, p.uses = leafUses(y)
	}
	for len(p.pending) > 0 {
		x := heap.Pop(&p.pending).(*Tensor)
		dx := p.grads[x]
		delete(p.grads, x)
		p.propagate(x, dx)
	}
	p.finish()
	return p.grads
}

// Backward adds the gradients of y, a single recorded element, into the Grad of
// every leaf it depends on that requires one. They stay until ClearGrad.
func (y *Tensor) Backward() {
	for leaf, d := range Gradients(y) {
		if leaf.Grad != nil {
			d = leaf.Grad.Add(d)
		}
		leaf.Grad = d.CloneDetached()
	}
}

// ClearGrad forgets what Backward has added up.
func (x *Tensor) ClearGrad() { x.Grad = nil }

// A pass walks a recorded expression from its result to its leaves.
type backwardPass struct {
	grads   Grads
	pending latestFirst // computed tensors that have a gradient, not yet passed on
	tape    *Tape
	ready   func(leaf, grad *Tensor) // nil if no one waits
	leaves  []*Tensor                // in the order in which they were found
	uses    map[*Tensor]int          // of each leaf, by operations that the pass has not reached
}

// leafUses returns the leaves of y that require a gradient, and how often the operations
// that y was computed by use each.
func leafUses(y *Tensor) (leaves []*Tensor, uses map[*Tensor]int) {
	uses = map[*Tensor]int{}
	seen := map[*Tensor]bool{}
	var visit func(x *Tensor)
	visit = func(x *Tensor) {
		for _, in := range x.node.in {
			switch {
			case !in.requiresGrad:
			case in.node == nil:
				if uses[in]++; uses[in] == 1 {
					leaves = append(leaves, in)
				}
			case !seen[in]:
				seen[in] = true
				visit(in)
			}
		}
	}
	if y.node != nil {
		visit(y)
	}
	return leaves, uses
}

// finish calls ready for leaves that some operation sent no gradient to, and so was
// never reached.
func (p *backwardPass) finish() {
	for _, x := range p.leaves {
		if p.uses[x] > 0 && p.grads[x] != nil {
			p.ready(x, p.grads[x])
		}
	}
}

// used counts the uses of leaves by an operation whose gradients have been added.
func (p *backwardPass) used(in []*Tensor) {
	for _, x := range in {
		if n, ok := p.uses[x]; ok {
			if p.uses[x] = n - 1; n == 1 && p.grads[x] != nil {
				p.ready(x, p.grads[x])
			}
		}
	}
}

func (p *backwardPass) push(x *Tensor) {
	if x.node != nil {
		heap.Push(&p.pending, x)
	}
}

// through passes dy from y on to the inputs that y was computed from.
func (p *backwardPass) propagate(y, dy *Tensor) {
	n := y.node
	if version(y, n.in) != n.version {
		fail("gradients", storage.ErrState, "something that %s was computed from has been written to since", n.op.Name())
	}
	in := make([]*Tensor, len(n.in))
	for i, x := range n.in {
		in[i] = x.inBackward(p.tape)
	}
	for i, dx := range n.op.Backward(y.inBackward(p.tape), dy, in...) {
		if x := n.in[i]; dx != nil && x.requiresGrad {
			p.add(x, dx)
		}
	}
	if p.ready != nil {
		p.used(n.in)
	}
}

func (p *backwardPass) add(x, dx *Tensor) {
	if have := p.grads[x]; have != nil {
		p.grads[x] = have.Add(dx)
		return
	}
	p.grads[x] = dx
	p.push(x)
}

// seed returns the 1 that gradients of y start from. No memory is filled if y is a
// loss, which has computed its gradient already.
func seed(y *Tensor) *Tensor {
	if y.node != nil {
		if _, knows := y.node.op.(interface{ storesGrad() }); knows {
			return &Tensor{Array: y.Array, isOne: true, noGrad: true, tape: y.tape}
		}
	}
	one := y.inBackward(y.tape).constant(1)
	one.isOne = true
	return one
}

// constant returns value repeated to x's shape by zero strides.
func (x *Tensor) constant(value float64) *Tensor {
	one := x.filled(views.Of(), value)
	one.View, _ = one.View.Broadcast(x.Shape...)
	return one
}

// zeros returns a dense tensor of zeros that lies as v does.
func (x *Tensor) zeros(v views.View) *Tensor { return x.filled(views.Like(v), 0) }

// filled returns a tensor of x's type, device and step, value all over.
func (x *Tensor) filled(v views.View, value float64) *Tensor {
	a := Context{device: device("fill", x), tape: x.tape}.mustAlloc(x.Type, v)
	run("fill", kernels.Fill, kernels.FillSet{Value: value}, []storage.Array{a})
	return x.sameStep(a)
}

// latestFirst is a heap of computed tensors, the one recorded last on top: when
// it is taken, everything computed from it has been passed through.
type latestFirst []*Tensor

func (h latestFirst) Len() int           { return len(h) }
func (h latestFirst) Less(i, j int) bool { return h[i].node.order > h[j].node.order }
func (h latestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *latestFirst) Push(x any)        { *h = append(*h, x.(*Tensor)) }
func (h *latestFirst) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
