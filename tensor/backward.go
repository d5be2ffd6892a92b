package tensor

import (
	"container/heap"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Grads holds one gradient for each leaf that requires one.
type Grads map[*Tensor]*Tensor

// Gradients returns the gradients of every leaf that y depends on and that requires
// one, for the incoming gradient dy. Without dy, y has a single element and dy is 1.
//
// Inside a step, what the backward pass no longer needs is released while it runs:
// afterwards, results that y was computed from cannot be read, except for y and the
// operands of its last operation, such as the logits of a loss. [Grad] can retain them.
func Gradients(y *Tensor, dy ...*Tensor) Grads {
	p := passOf(y, dy)
	p.run()
	return p.grads
}

func passOf(y *Tensor, dy []*Tensor) *pass {
	if len(dy) > 1 {
		fail("gradients", ErrState, "%d incoming gradients for one tensor", len(dy))
	}
	return newPass("gradients", []*Tensor{y}, dy, nil, GradOptions{})
}

// GradOptions are the settings of Grad.
type GradOptions struct {
	// Incoming holds the gradient of each y, of its shape and type. One that is nil, or
	// left out, is 1 for a y of a single element.
	Incoming []*Tensor
	// CreateGraph records the backward pass, so that the gradients can be
	// differentiated in turn. It implies RetainGraph.
	CreateGraph bool
	// RetainGraph keeps what the backward pass needs, for another one.
	RetainGraph bool
	// AllowUnused returns nil for an x that no y depends on, which is else an error.
	AllowUnused bool
}

// Grad returns the gradient of Σ incoming·y with respect to each of xs, which may be
// leaves or results.
func Grad(ys, xs []*Tensor, o GradOptions) []*Tensor {
	const act = "grad"
	if len(ys) == 0 || len(o.Incoming) > len(ys) {
		fail(act, ErrState, "%d incoming gradients for %d tensors", len(o.Incoming), len(ys))
	}
	for _, x := range xs {
		x.checkAlive(act)
		if !x.requiresGrad {
			fail(act, ErrState, "%v does not require a gradient; call RequireGrad before it is used", x.array)
		}
	}
	p := newPass(act, ys, o.Incoming, xs, o)
	p.run()
	dxs := make([]*Tensor, len(xs))
	for i, x := range xs {
		dxs[i] = p.grads[x]
		if dxs[i] == nil && !o.AllowUnused {
			fail(act, ErrState, "no result depends on x %d, %v; set AllowUnused to have nil", i, x.array)
		}
	}
	return dxs
}

// Backward adds the gradients of y into the Grad of every leaf that y depends on and
// that requires one, and of every result that RetainGrad names. They stay until ZeroGrad.
// See [Gradients] for dy.
func (y *Tensor) Backward(dy ...*Tensor) {
	p := passOf(y, dy)
	p.retained = Grads{}
	p.run()
	for _, grads := range []Grads{p.grads, p.retained} {
		for x, d := range grads {
			if x.Grad != nil {
				d = x.Grad.Add(d)
			}
			x.Grad = d.CloneDetached()
		}
	}
}

// ZeroGrad sets x.Grad to nil.
func (x *Tensor) ZeroGrad() { x.Grad = nil }

// A pass walks a recorded expression from its results to its leaves.
type pass struct {
	GradOptions
	grads     Grads     // of tensors that are reached, until they are passed on
	pending   lastFirst // operations whose results have gradients
	tape      *Tape
	targets   []*Tensor      // the tensors whose gradients are kept; nil for all leaves
	leads     map[*node]bool // whether an operation depends on a target; nil for all leaves
	kept      []*block       // not released though no gradient needs them
	activated []*node        // operations whose activations have been differentiated with the operations that use their results
	notify    *notifier      // nil if no one waits for single gradients
	retained  Grads          // of results that RetainGrad names; nil if no one asks for them
}

func newPass(act string, ys, dys, targets []*Tensor, o GradOptions) *pass {
	o.RetainGraph = o.RetainGraph || o.CreateGraph
	p := &pass{GradOptions: o, grads: Grads{}, targets: targets}
	if targets != nil {
		p.leads = map[*node]bool{}
	}
	for i, y := range ys {
		y.checkAlive(act)
		if y.tape != nil {
			p.tape = y.tape
		}
		if !y.requiresGrad || y.node == nil && targets == nil {
			fail(act, ErrState, "%v was not computed from a leaf that requires a gradient, or inside Infer, which records nothing", y.array)
		}
		var dy *Tensor
		if i < len(dys) {
			dy = dys[i]
		}
		switch {
		case dy == nil && y.Len() != 1:
			fail(act, ErrState, "of %v; want a single element, or an incoming gradient", y.array)
		case dy == nil && y.DType().IsComplex():
			fail(act, ErrState, "of %v; want a real number, such as its Abs, or an incoming gradient", y.array)
		case dy == nil:
			dy = p.seed(y)
		case dy.DType() != y.DType() || !slices.Equal(dy.Shape(), y.Shape()):
			fail(act, ErrShape, "incoming gradient %v of %v", dy.array, y.array)
		default:
			dy.checkAlive(act)
			dy = dy.inBackward(p)
		}
		p.keep(y)
		p.add(y, dy)
	}
	return p
}

func (p *pass) run() {
	for len(p.pending) > 0 {
		p.propagate(heap.Pop(&p.pending).(*node))
	}
	for x, dx := range p.grads {
		if x.onGrad != nil && (x.node == nil && p.notify == nil || x.node != nil && !p.leadsOn(x)) {
			p.grads[x] = p.seen(x, dx)
		}
	}
	p.notify.finish(p.grads)
	for _, dx := range p.grads {
		if dx.block != nil {
			dx.block.uses--
		}
		dx.backward, dx.isOne, dx.saved, dx.noGrad = false, false, false, p.tape != nil && p.tape.noGrad
		dx.requiresGrad = dx.requiresGrad && p.CreateGraph
	}
	for _, b := range p.kept {
		b.uses--
	}
}

// keep keeps y, and the operands that it was computed from, for the caller to read.
func (p *pass) keep(y *Tensor) {
	all := []*Tensor{y}
	if y.node != nil {
		all = append(all, y.node.operands()...)
	}
	for _, x := range all {
		if x.block != nil {
			x.block.use()
			p.kept = append(p.kept, x.block)
		}
	}
}

// propagate passes the gradients of the results of n on to its operands.
func (p *pass) propagate(n *node) {
	grads := make([]*Tensor, len(n.out))
	for i, y := range n.out {
		if grads[i] = p.grads[y]; grads[i] == nil {
			continue
		}
		if y.onGrad != nil {
			grads[i] = p.seen(y, grads[i])
			p.grads[y] = grads[i]
		}
		if !p.isTarget(y) {
			delete(p.grads, y)
		}
	}
	op, in, producers := p.fused(n)
	if n.released {
		fail("gradients", ErrState, "a backward pass has released what %s saved; set RetainGraph in that one", n.op.Name())
	}
	if n.currentVersion() != n.version {
		fail("gradients", storage.ErrState, "something that %s was computed from has been written to since", n.op.Name())
	}
	first := p.tape.allocated()
	op = p.throughActivation(op, n.out, grads, in)
	var dxs []*Tensor
	if detecting() {
		dxs = p.backwardDetecting(n, op, grads, in)
	} else {
		dxs = p.backward(op, n.out, grads, in)
	}
	p.checkGradients(op, dxs, in)
	for i, dx := range dxs {
		if x := in[i]; dx != nil && p.needs(x) {
			p.add(x, dx)
		}
	}
	p.notify.used(n.operands(), p.grads)
	for _, producer := range producers {
		p.notify.used(producer.operands(), p.grads)
	}
	if p.RetainGraph {
		return
	}
	for i, y := range n.out {
		if grads[i] != nil && !p.isTarget(y) {
			p.drop(grads[i].block)
		}
	}
	n.release(p)
	for _, producer := range producers {
		producer.release(p)
	}
	if p.tape != nil {
		for _, b := range p.tape.used[first:] {
			if b.freeable = true; b.uses == 0 {
				p.tape.release(b)
			}
		}
	}
}

// checkGradients fails unless dxs holds one gradient for each operand, of its shape and
// type, or nil.
func (p *pass) checkGradients(op Op, dxs, in []*Tensor) {
	if len(dxs) != len(in) {
		fail(op.Name(), ErrState, "Backward returns %d gradients for %d operands; want one for each, or nil", len(dxs), len(in))
	}
	for i, dx := range dxs {
		switch x := in[i]; {
		case dx == nil || !p.needs(x):
		case !slices.Equal(dx.Shape(), x.Shape()):
			fail(op.Name(), ErrShape, "Backward returns a gradient of shape %v for operand %d of %v", dx.Shape(), i, x.Shape())
		case dx.DType() != x.DType():
			fail(op.Name(), ErrType, "Backward returns a gradient of %v for operand %d of %v", dx.DType(), i, x.DType())
		}
	}
}

// few is the number of operands and results that most operations do with.
const few = 4

// backward calls op.Backward. Unless the pass is recorded, op sees tensors from which
// nothing is recorded.
func (p *pass) backward(op Op, out, grads, in []*Tensor) []*Tensor {
	if p.CreateGraph {
		defer nameNotDifferentiable(op)
		return op.Backward(unnamed(out), grads, unnamed(in))
	}
	var copies []Tensor
	var pointers []*Tensor
	if n := len(out) + len(in); n <= few {
		all := new(struct {
			copies   [few]Tensor
			pointers [few]*Tensor
		})
		copies, pointers = all.copies[:n], all.pointers[:n]
	} else {
		copies, pointers = make([]Tensor, n), make([]*Tensor, n)
	}
	for i := range copies {
		x, needed := (*Tensor)(nil), true
		if i < len(out) {
			x = out[i]
		} else {
			x = in[i-len(out)]
			needed = p.needs(x)
		}
		c := &copies[i]
		c.array, c.tape, c.block, c.rowMajor = x.array, p.tape, x.block, x.rowMajor
		c.requiresGrad, c.noGrad, c.backward = needed, true, true
		pointers[i] = c
	}
	return op.Backward(pointers[:len(out)], grads, pointers[len(out):])
}

// unnamed returns xs without the names of their axes: gradients have none.
func unnamed(xs []*Tensor) []*Tensor {
	for i, x := range xs {
		if x.format != nil {
			xs = slices.Clone(xs)
			xs[i] = x.Unnamed()
		}
	}
	return xs
}

// nameNotDifferentiable makes a refusal to record part of op's Backward say whose it is.
func nameNotDifferentiable(op Op) {
	switch p := recover().(type) {
	case nil:
	case *Error:
		if p.Err == error(errNotDifferentiable) {
			p = &Error{op.Name(), errNoSecond}
		}
		panic(p)
	default:
		panic(p)
	}
}

var errNoSecond = errkind.Errorf(ErrState, "its derivative cannot be recorded, so it has no second derivative; leave out CreateGraph")

// add adds dx to the gradient of x.
func (p *pass) add(x, dx *Tensor) {
	have := p.grads[x]
	if have != nil {
		sum := have.Add(dx)
		sum.block.use()
		p.grads[x] = sum
		p.drop(have.block)
		return
	}
	dx.block.use()
	p.grads[x] = dx
	if n := x.node; n != nil && !slices.ContainsFunc(n.out, func(y *Tensor) bool { return y != x && p.grads[y] != nil }) && p.leadsOn(x) {
		heap.Push(&p.pending, n)
	}
}

// drop ends a use of b.
func (p *pass) drop(b *block) {
	if b == nil {
		return
	}
	if b.uses--; b.uses == 0 && b.freeable && !p.RetainGraph {
		p.tape.release(b)
	}
}

// release ends n's uses of memory: its Backward has run.
func (n *node) release(p *pass) {
	if n.released || p.tape == nil {
		return
	}
	n.released = true
	for _, x := range n.operands() {
		p.drop(x.block)
	}
	for _, y := range n.out {
		p.drop(y.block)
	}
	for _, b := range n.saved {
		p.drop(b)
	}
}

// isTarget reports whether the gradient of x is to be returned though it is passed on.
func (p *pass) isTarget(x *Tensor) bool { return slices.Contains(p.targets, x) }

// needs reports whether a gradient should reach x.
func (p *pass) needs(x *Tensor) bool {
	if p.targets == nil || !x.requiresGrad {
		return x.requiresGrad
	}
	return p.isTarget(x) || p.leadsOn(x)
}

// leadsOn reports whether a gradient should be passed on from x.
func (p *pass) leadsOn(x *Tensor) bool {
	n := x.node
	if n == nil || p.targets == nil {
		return n != nil
	}
	leads, known := p.leads[n]
	if !known {
		leads = slices.ContainsFunc(n.operands(), p.needs)
		p.leads[n] = leads
	}
	return leads
}

// seed returns dy/dy = 1. For a loss that has already computed its gradient, no memory
// is filled.
func (p *pass) seed(y *Tensor) *Tensor {
	if y.node != nil && !p.CreateGraph && y.onGrad == nil {
		if _, stored := y.node.op.(interface{ storesGrad() }); stored {
			return &Tensor{array: y.array, isOne: true, noGrad: true, backward: true, tape: y.tape}
		}
	}
	seed := y.inBackward(p).constant(1)
	seed.isOne = y.onGrad == nil
	return seed
}

// inBackward returns x as the derivatives of the pass see it.
func (x *Tensor) inBackward(p *pass) *Tensor {
	if p.CreateGraph && (x.backward || x.requiresGrad) {
		y := view(rename{}, x, x.array.View)
		y.backward = true
		return y
	}
	y := *x
	y.Grad, y.onGrad, y.format, y.backward = nil, nil, nil, true
	y.noGrad = y.noGrad || !p.CreateGraph
	return &y
}

// constant returns value repeated to x's shape by zero strides.
func (x *Tensor) constant(value float64) *Tensor {
	one := x.filled(views.Of(), value)
	one.array.View, _ = one.array.View.Broadcast(x.Shape()...)
	return one
}

// zeros returns a dense tensor of zeros in the layout of v.
func (x *Tensor) zeros(v views.View) *Tensor { return x.filled(views.Like(v), 0) }

// filled returns a tensor of x's type, device and step, value all over.
func (x *Tensor) filled(v views.View, value float64) *Tensor { return x.filledAs(x.DType(), v, value) }

// filledAs is filled with elements of type t.
func (x *Tensor) filledAs(t dtype.Type, v views.View, value float64) *Tensor {
	c := Context{device: device("fill", x), tape: x.tape}
	a, b, err := c.alloc(t, v)
	check("fill", err)
	check("fill", c.Run(kernels.Fill, kernels.FillOptions{Value: value}, []storage.Array{a}))
	return &Tensor{array: a, block: b, noGrad: x.noGrad, backward: x.backward, tape: x.tape}
}

// lastFirst is a heap of operations, the one recorded last on top: when it is taken,
// the gradients of its results are complete.
type lastFirst []*node

func (h lastFirst) Len() int           { return len(h) }
func (h lastFirst) Less(i, j int) bool { return h[i].order > h[j].order }
func (h lastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lastFirst) Push(x any)        { *h = append(*h, x.(*node)) }
func (h *lastFirst) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	*h = (*h)[:last]
	return n
}
