package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// The options of the optimizers' updates.
type (
	UpdateOptions   = kernels.UpdateOptions
	SGDOptions      = kernels.SGDOptions
	AdamOptions     = kernels.AdamOptions
	NAdamOptions    = kernels.NAdamOptions
	AdamaxOptions   = kernels.AdamaxOptions
	AdagradOptions  = kernels.AdagradOptions
	AdadeltaOptions = kernels.AdadeltaOptions
	RMSPropOptions  = kernels.RMSPropOptions
	LionOptions     = kernels.LionOptions
)

// StepArgs are arrays on the parameters' device from which an update reads, when it runs,
// the hyperparameters that change from step to step and the state of the loss scaler:
// see package kernels. It may be empty.
type StepArgs []storage.Array

// An Update is a leaf to be updated, its gradient, and its optimizer state, of the leaf's
// shape, in the order of the kernel's outputs: momentum for SGD with momentum, first and second moments for Adam.
type Update struct {
	Leaf, Grad *Tensor
	State      []*Tensor
}

// UpdateLeaves updates leaves and their states in place by an optimizer's rule, all in one pass.
func UpdateLeaves(of []Update, o UpdateOptions, args StepArgs) {
	k := kernels.UpdateOf(o)
	op := k.Name
	if len(of) == 0 {
		return
	}
	var changed, grads []*Tensor
	for _, u := range of {
		u.Grad.checkAlive(op)
		if u.Leaf.node != nil {
			fail(op, ErrState, "%v was computed; only leaves are updated", u.Leaf)
		}
		grads, changed = append(grads, u.Grad), append(append(changed, u.Leaf), u.State...)
	}
	device(op, append(changed, grads...)...)
	out := arrays(changed)
	run(op, k, o, out, append(arrays(grads), args...)...)
}
