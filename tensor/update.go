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

// UpdateSGD moves leaf p against its gradient g, in place and in one pass;
// momentum, where it is not nil, is updated with it.
func UpdateSGD(p, g, momentum *Tensor, set SGDSet, by Steering) {
	if momentum == nil {
		update("sgd", kernels.SGD, set, by, g, p)
		return
	}
	update("sgd", kernels.SGD, set, by, g, p, momentum)
}

// UpdateAdam moves leaf p by Adam's rule, in place and in one pass, and with it
// the running first and second moments m and v of its gradient g.
func UpdateAdam(p, g, m, v *Tensor, set AdamSet, by Steering) {
	update("adam", kernels.Adam, set, by, g, p, m, v)
}

// update runs k from g on tensors it changes, and counts the change.
func update(op string, k *kernels.Kernel, set any, by Steering, g *Tensor, changed ...*Tensor) {
	g.live(op)
	out := arrays(changed)
	for _, x := range changed {
		if x.node != nil {
			fail(op, ErrState, "%v was computed; only leaves are updated", x)
		}
	}
	device(op, append(changed, g)...)
	run(op, k, set, out, append([]storage.Array{g.Array}, by...)...)
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
