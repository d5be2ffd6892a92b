package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// The options of the optimizers' updates.
type (
	SGDOptions  = kernels.SGDOptions
	AdamOptions = kernels.AdamOptions
)

// StepArgs are arrays on the parameters' device from which an update reads, when it runs,
// the hyperparameters that change from step to step and the state of the loss scaler:
// see package kernels. It may be empty.
type StepArgs []storage.Array

// An Update is a leaf to be updated, its gradient, and its optimizer state, of the leaf's
// shape: momentum for SGD with momentum, first and second moments for Adam.
type Update struct {
	Leaf, Grad *Tensor
	State      []*Tensor
}

// UpdateSGD updates leaves in place by stochastic gradient descent, all in one pass.
func UpdateSGD(of []Update, o SGDOptions, args StepArgs) { update("sgd", kernels.SGD, o, args, of) }

// UpdateAdam updates leaves in place by Adam's rule, all in one pass.
func UpdateAdam(of []Update, o AdamOptions, args StepArgs) {
	update("adam", kernels.Adam, o, args, of)
}

// update runs k on leaves and their state.
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
}
