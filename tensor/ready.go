package tensor

import "iter"

// GradientsReady is Gradients that also calls ready, unless it is nil, with each
// leaf and its gradient as soon as that is complete: while the rest is still to be
// computed. ready must not change the gradient.
func GradientsReady(y *Tensor, ready func(leaf, grad *Tensor)) Grads {
	p := newPass("gradients", []*Tensor{y}, nil, nil, GradOptions{})
	if ready != nil {
		p.notify = newNotifier(y, func(x, dx *Tensor) {
			if x.onGrad != nil {
				dx = p.seen(x, dx)
				p.grads[x] = dx
			}
			ready(x, dx)
		})
	}
	p.run()
	return p.grads
}

// A notifier calls ready with each leaf whose gradient is complete.
type notifier struct {
	ready  func(leaf, grad *Tensor)
	leaves []*Tensor       // in the order in which they were found
	uses   map[*Tensor]int // of each leaf, by operations that the pass has not reached
}

// newNotifier counts how often the operations that y was computed by use each leaf.
func newNotifier(y *Tensor, ready func(leaf, grad *Tensor)) *notifier {
	t := &notifier{ready: ready, uses: map[*Tensor]int{}}
	for x := range leafUses(y) {
		if t.uses[x]++; t.uses[x] == 1 {
			t.leaves = append(t.leaves, x)
		}
	}
	return t
}

// leafUses yields the leaves that require a gradient and that y was computed from, once for each use by an operation.
func leafUses(y *Tensor) iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) {
		seen := map[*node]bool{nil: true}
		var visit func(n *node) bool
		visit = func(n *node) bool {
			if seen[n] {
				return true
			}
			seen[n] = true
			for _, x := range n.operands() {
				if x.node == nil && x.requiresGrad && !yield(x) || !visit(x.node) {
					return false
				}
			}
			return true
		}
		visit(y.node)
	}
}

// used counts the uses of leaves by an operation whose gradients have been added.
func (t *notifier) used(in []*Tensor, grads Grads) {
	if t == nil {
		return
	}
	for _, x := range in {
		if n, ok := t.uses[x]; ok {
			if t.uses[x] = n - 1; n == 1 && grads[x] != nil {
				t.ready(x, grads[x])
			}
		}
	}
}

// finish calls ready for leaves that are used by an operation which no gradient reached.
func (t *notifier) finish(grads Grads) {
	if t == nil {
		return
	}
	for _, x := range t.leaves {
		if t.uses[x] > 0 && grads[x] != nil {
			t.ready(x, grads[x])
		}
	}
}
