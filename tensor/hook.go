package tensor

import "slices"

// onGrad says what a backward pass does with the gradient of a tensor when it is complete.
type onGrad struct {
	hooks  []*func(grad *Tensor) *Tensor
	retain bool // whether Backward keeps it in Grad
}

// RetainGrad makes Backward add the gradient of x, a result, into x.Grad, as it does for
// leaves. It returns x.
func (x *Tensor) RetainGrad() *Tensor {
	x.watchGrad("retain grad").retain = x.node != nil
	return x
}

// RegisterHook makes each backward pass call hook with the gradient of x when it is complete,
// and go on with the gradient that hook returns, of the same shape and type, or with the same
// one if hook returns nil. Hooks are called in the order in which they were registered; remove
// ends that. A hook must not write to the gradient; inside of a step it clones what it keeps.
func (x *Tensor) RegisterHook(hook func(grad *Tensor) *Tensor) (remove func()) {
	w := x.watchGrad("register hook")
	w.hooks = append(w.hooks, &hook)
	return func() {
		w.hooks = slices.DeleteFunc(slices.Clone(w.hooks), func(h *func(*Tensor) *Tensor) bool { return h == &hook })
	}
}

func (x *Tensor) watchGrad(act string) *onGrad {
	if !x.requiresGrad {
		fail(act, ErrState, "%v requires no gradient", x.array)
	}
	if x.onGrad == nil {
		x.onGrad = &onGrad{}
	}
	return x.onGrad
}

// seen returns what the hooks of x make of its complete gradient, and retains that.
func (p *pass) seen(x, dx *Tensor) *Tensor {
	for _, hook := range x.onGrad.hooks {
		changed := (*hook)(dx)
		if changed == nil || changed == dx {
			continue
		}
		if changed.DType() != dx.DType() || !slices.Equal(changed.Shape(), dx.Shape()) {
			fail("hook", ErrShape, "returns %v for the gradient %v", changed.array, dx.array)
		}
		if !changed.backward {
			changed = changed.inBackward(p)
		}
		changed.block.use()
		p.drop(dx.block)
		dx = changed
	}
	if x.onGrad.retain && p.retained != nil {
		p.retained[x] = dx.CloneDetached()
	}
	return dx
}
