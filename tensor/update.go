package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// The settings of the optimizers' updates.
type (
	SGDOptions  = kernels.SGDOptions
	AdamOptions = kernels.AdamOptions
)

// StepArgs are arrays from which an update reads, when it runs,
// the hyperparameters that change from step to step, and the state of the loss scaler, as
// package kernels describes them, on the parameters' device. It may be empty.
type StepArgs []storage.Array

// An Update is a leaf that is to move, its gradient, and what is kept with it, of
// the leaf's shape: momentum for SGD that has one, first and second moments for Adam.
type Update struct {
	Leaf, Grad *Tensor
	State      []*Tensor
}

// UpdateSGD moves leaves against their gradients, in place, all in one pass.
func UpdateSGD(of []Update, set SGDOptions, args StepArgs) { update("sgd", kernels.SGD, set, args, of) }

// UpdateAdam moves leaves by Adam's rule, likewise.
func UpdateAdam(of []Update, set AdamOptions, args StepArgs) {
	update("adam", kernels.Adam, set, args, of)
}

// update runs k on what it changes, and counts the change.
func update(op string, k *kernels.Kernel, set any, args StepArgs, of []Update) {
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
	run(op, k, set, out, append(arrays(grads), args...)...)
	bumpVersions(out...)
}

// touch counts a write to each array, so that expressions which still need the
// old values find out.
func bumpVersions(as ...storage.Array) {
	for _, a := range as {
		if v, ok := a.Data.(storage.Versioned); ok {
			v.BumpVersion()
		}
	}
}
