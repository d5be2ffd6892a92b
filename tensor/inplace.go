package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// Zero sets every element of x to 0, in place.
func (x *Tensor) Zero() { x.Fill(0) }

// Fill sets every element of x to value, in place. Expressions that still need
// what was there fail in their backward pass.
func (x *Tensor) Fill(value float64) {
	x.writable("fill")
	run("fill", kernels.Fill, kernels.FillSet{Value: value}, []storage.Array{x.Array})
	touch(x.Array)
}

// AddInto adds y, stretched to x's shape, to x in place.
func (x *Tensor) AddInto(y *Tensor) {
	x.writable("add into")
	x.stretches("add into", y)
	run("add into", kernels.Add, nil, []storage.Array{x.Array}, x.Array, stretch(y.Array, x.Shape))
	touch(x.Array)
}

// Assign copies y, stretched to x's shape, to x in place: x is most often a
// Slice or Index of something.
func (x *Tensor) Assign(y *Tensor) {
	x.writable("assign")
	x.stretches("assign", y)
	run("assign", kernels.Copy, nil, []storage.Array{x.Array}, stretch(y.Array, x.Shape))
	touch(x.Array)
}

// writable fails if x's value is part of a recorded expression.
func (x *Tensor) writable(act string) {
	x.live(act)
	if x.wants {
		fail(act, ErrState, "a gradient is to reach this tensor; write to its Detach, before anything is computed from it")
	}
}

// stretches fails unless y can be written all over x.
func (x *Tensor) stretches(act string, y *Tensor) {
	y.live(act)
	if y.Type != x.Type {
		fail(act, ErrType, "of %v into %v; Cast it first", y.Type, x.Type)
	}
	if _, ok := y.View.Broadcast(x.Shape...); !ok {
		fail(act, ErrShape, "%v does not stretch to %v", y.Shape, x.Shape)
	}
	device(act, x, y)
}
