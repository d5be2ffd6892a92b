// Package tensor is the mathematics: operations and their derivatives.
//
// A [Tensor] is a storage.Array that may remember how it was computed. Every
// operation is one file, op_NAME.go, holding its formula, its derivative and
// the calls it is tested on; its arithmetic is a kernel of package kernels.
//
// # Memory
//
// Inside [Step] and [Infer] results live in the step's own memory, which the
// next step uses again; what must outlive it is copied by [Tensor.CloneDetached].
// Outside, results live as long as they are reachable.
//
// # Gradients
//
// An expression over leaves that require gradients records itself. [Gradients]
// returns what reaches each leaf, as values; [Tensor.Backward] adds the same
// into the leaves' Grad, as PyTorch does.
//
// # Errors
//
// Expressions panic with *[Error], so that they read like the formulas they
// are; [Step], [Infer] and [Try] turn that panic into an error. Everything that
// touches the world outside an expression returns one.
package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Tensor is an array in an expression. Its value does not change while
// anything still needs it for a gradient.
type Tensor struct {
	storage.Array
	// Grad is what Backward has added up for this leaf; nil before.
	Grad *Tensor

	requiresGrad bool  // whether a gradient should reach it
	isOne        bool  // whether it is the 1 that gradients start from
	rowMajor     bool  // whether windows and dropouts of it lie row-major: see PreferRowMajor
	noGrad       bool  // whether what is computed from it goes unrecorded
	node         *node // how it was computed; nil for a leaf
	tape         *Tape // whose memory it lives in; nil if its own
}

// Of wraps a as a constant.
func Of(a storage.Array) *Tensor { return &Tensor{Array: a} }

// From returns a constant that shares elems, laid out row-major.
func From[T dtype.Go](elems []T, shape ...int) *Tensor {
	return Of(storage.From(elems, shape...))
}

// Leaf returns a tensor over a that gradients are computed for.
func Leaf(a storage.Array) *Tensor { return &Tensor{Array: a, requiresGrad: true} }

// RequireGrad asks for a gradient to reach x, which must be a leaf, and returns x.
func (x *Tensor) RequireGrad() *Tensor {
	if x.node != nil {
		fail("require grad", storage.ErrState, "%v was computed, only leaves can ask; call Detach first", x)
	}
	x.requiresGrad = true
	return x
}

// RequiresGrad reports whether a gradient flows to x: it is a leaf that asks for
// one, or was computed from such.
func (x *Tensor) RequiresGrad() bool { return x.requiresGrad }

// Detach returns x's value as a constant: no gradient flows through it.
func (x *Tensor) Detach() *Tensor {
	return &Tensor{Array: x.Array, tape: x.tape}
}

// CloneDetached returns a constant equal to x in memory of its own, row-major, that
// outlives the step.
func (x *Tensor) CloneDetached() *Tensor {
	x.checkAlive("clone")
	y := Context{device: device("clone", x)}.mustAlloc(x.Type, views.Of(x.Shape...))
	run("clone", kernels.Copy, nil, []storage.Array{y}, x.Array)
	return Of(y)
}

// Tape returns the step that x belongs to, or nil.
func (x *Tensor) Tape() *Tape { return x.tape }

// Item returns the single element of x.
func (x *Tensor) Item() float64 {
	if x.Len() != 1 {
		fail("item", views.ErrShape, "of %v; want a single element", x.Shape)
	}
	return Values[float64](x)[0]
}

// Values returns the elements of x in row-major order, converted to T.
func Values[T dtype.Go](x *Tensor) []T {
	x.checkAlive("values")
	host, err := x.To(storage.CPU)
	check("values", err)
	row := Of(host)
	if want := dtype.Of[T](); x.Type != want {
		row = row.Cast(want)
	}
	first := row.Offset
	return storage.Elements[T](row.Array)[first : first+row.Len()]
}

// checkAlive fails if the step whose memory x lives in has ended.
func (x *Tensor) checkAlive(act string) {
	if x.tape != nil && x.tape.ended {
		fail(act, storage.ErrState, "%v belongs to a step that has ended; CloneDetached what must outlive it", x.Type)
	}
}

// inBackward returns x as the backward pass sees it: what is computed from it is
// not recorded again.
func (x *Tensor) inBackward(t *Tape) *Tensor {
	if x.noGrad {
		return x
	}
	return &Tensor{Array: x.Array, requiresGrad: x.requiresGrad, noGrad: true, tape: t}
}
