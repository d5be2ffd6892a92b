package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// The settings of the optimizers' updates.
type (
	SGDSet  = kernels.SGDSet
	AdamSet = kernels.AdamSet
)

// Steering is what an update finds in memory when it runs, in the place of
// settings that change from step to step: dials, and a guard behind them, as
// package kernels describes them, on the parameters' device. It may be empty.
type Steering []storage.Array

// An Update is a leaf that is to move, its gradient, and what is kept with it, of
// the leaf's shape: momentum for SGD that has one, first and second moments for Adam.
type Update struct {
	Leaf, Grad *Tensor
	Kept       []*Tensor
}

// UpdateSGD moves leaves against their gradients, in place, all in one pass.
func UpdateSGD(of []Update, set SGDSet, by Steering) { update("sgd", kernels.SGD, set, by, of) }

// UpdateAdam moves leaves by Adam's rule, likewise.
func UpdateAdam(of []Update, set AdamSet, by Steering) { update("adam", kernels.Adam, set, by, of) }

// update runs k on what it changes, and counts the change.
func update(op string, k *kernels.Kernel, set any, by Steering, of []Update) {
	if len(of) == 0 {
		return
	}
	var changed, grads []*Tensor
	for _, u := range of {
		u.Grad.live(op)
		if u.Leaf.node != nil {
			fail(op, ErrState, "%v was computed; only leaves are updated", u.Leaf)
		}
		grads, changed = append(grads, u.Grad), append(append(changed, u.Leaf), u.Kept...)
	}
	device(op, append(changed, grads...)...)
	out := arrays(changed)
	run(op, k, set, out, append(arrays(grads), by...)...)
	touch(out...)
}

// touch counts a write to each array, so that expressions which still need the
// old values find out.
func touch(as ...storage.Array) {
	for _, a := range as {
		if v, ok := a.Data.(storage.Versioned); ok {
			v.Touch()
		}
	}
}
