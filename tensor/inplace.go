package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Zero sets every element of x to 0, in place.
func (x *Tensor) Zero() { x.Fill(0) }

// Fill sets every element of x to value, in place. The backward pass of an expression
// that needs the old elements fails.
func (x *Tensor) Fill(value float64) {
	x.checkWritable("fill")
	run("fill", kernels.Fill, kernels.FillOptions{Value: value}, []storage.Array{x.array})
}

// AddInto adds y, broadcast to x's shape, to x in place.
func (x *Tensor) AddInto(y *Tensor) {
	x.checkWritable("add into")
	x.checkBroadcast("add into", y)
	run("add into", kernels.Add, nil, []storage.Array{x.array}, x.array, operandOf("add into", x, y))
}

// Assign copies y, broadcast to x's shape, to x in place; x is often a Slice or an Index
// of another tensor.
func (x *Tensor) Assign(y *Tensor) {
	x.checkWritable("assign")
	x.checkBroadcast("assign", y)
	run("assign", kernels.Copy, nil, []storage.Array{x.array}, operandOf("assign", x, y))
}

// operandOf returns y, broadcast to x's shape, for an elementwise kernel that writes x: a
// copy if that would change elements of y before they are read.
func operandOf(act string, x, y *Tensor) storage.Array {
	y = inMemory(act, []*Tensor{x, y})[1]
	if a := broadcastTo(y.array, x.Shape()); !kernels.Clobbers(x.array, a) {
		return a
	}
	copied := storage.Array{Type: y.DType(), View: views.Of(y.Shape()...)}
	var err error
	copied.Data, err = x.Device().Alloc(y.Len() * y.DType().Size())
	check(act, err)
	run(act, kernels.Copy, nil, []storage.Array{copied}, y.array)
	return broadcastTo(copied, x.Shape())
}

// checkWritable fails if x's value is part of a recorded expression.
func (x *Tensor) checkWritable(act string) {
	x.checkAlive(act)
	x.checkFormat(act, nil)
	if x.requiresGrad {
		fail(act, ErrState, "%v requires a gradient; write to its Detach, before anything is computed from it", x.array)
	}
}

// checkBroadcast fails unless y broadcasts to the shape of x and has its type.
func (x *Tensor) checkBroadcast(act string, y *Tensor) {
	y.checkAlive(act)
	y.checkFormat(act, nil)
	if y.requiresGrad && !y.noGrad {
		fail(act, ErrState, "of %v would drop the gradient that should reach it; Detach it, or use Concat or Where", y.array)
	}
	if y.DType() != x.DType() {
		fail(act, ErrType, "of %v into %v; Cast it first", y.DType(), x.DType())
	}
	if _, ok := y.array.View.Broadcast(x.Shape()...); !ok {
		fail(act, ErrShape, "%v does not broadcast to %v", y.Shape(), x.Shape())
	}
	device(act, x, y)
}
