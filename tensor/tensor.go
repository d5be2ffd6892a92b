// Package tensor is the mathematics: operations and their derivatives.
//
// A [Tensor] is a storage.Array that may remember how it was computed. Every
// operation is one file, op_NAME.go, holding its formula, its derivative and
// the calls it is tested on; its arithmetic is a kernel of package kernels.
//
// # Memory
//
// Inside [Step] and [Infer] results live in the step's own memory, which the
// next step uses again; [Tensor.CloneDetached] and [Values] copy what must outlive it. A
// backward pass releases results as soon as it no longer needs them; in [Infer] the models of package nn
// release them after their last use. Outside of steps,
// results live as long as they are reachable.
//
// # Gradients
//
// An expression over leaves that require gradients records itself. [Gradients]
// returns the gradient of each leaf, [Grad] the gradients of any tensors; [Tensor.Backward] adds
// gradients to the leaves' Grad, as PyTorch does.
//
// Operations in place, such as [Tensor.AddInPlace], keep gradients right or fail. [Into] writes a
// result to given memory. [NoGrad] records nothing.
//
// # Errors
//
// Expressions panic with *[Error], so that they read like the formulas they
// are; [Step], [Infer] and [Try] turn that panic into an error. Everything that
// touches the world outside an expression returns one.
package tensor

import (
	"math"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Tensor is an array in an expression. Its value does not change while
// anything still needs it for a gradient.
type Tensor struct {
	array storage.Array
	// Grad is the sum of the gradients that Backward has computed for this leaf, or after
	// RetainGrad for this result; nil before.
	Grad *Tensor

	requiresGrad bool    // whether a gradient should reach it
	noGrad       bool    // whether what is computed from it goes unrecorded
	backward     bool    // whether it was computed by a backward pass, for that pass
	saved        bool    // whether it was saved by a Forward, unrecorded
	isOne        bool    // whether it is the 1 that gradients start from
	rowMajor     bool    // see PreferRowMajor
	format       *Format // nil for an ordinary tensor
	node         *node   // how it was computed; nil for a leaf
	onGrad       *onGrad // what to do with its gradient; nil for nothing
	past         []past  // what it was before operations in place
	isView       bool    // whether it shares the memory of another tensor
	viewed       bool    // whether another tensor shares its memory
	into         *target // where an operation on it writes its result; nil for new memory
	tape         *Tape   // the step that it belongs to; nil outside of steps
	block        *block  // of the step's memory; nil if it is elsewhere
}

// FromArray wraps a as a constant.
func FromArray(a storage.Array) *Tensor { return &Tensor{array: a} }

// FromSlice returns a constant that shares elems, laid out row-major.
func FromSlice[T dtype.Go](elems []T, shape ...int) *Tensor {
	if n := views.Of(shape...).Len(); n != len(elems) {
		fail("from", ErrShape, "%d elements do not fill %v", len(elems), shape)
	}
	return FromArray(storage.From(elems, shape...))
}

// Leaf returns a tensor over a that gradients are computed for.
func Leaf(a storage.Array) *Tensor { return FromArray(a).RequireGrad() }

// hasGradient reports whether tensors of type t can have a gradient.
func hasGradient(t dtype.Type) bool { return t.IsFloat() || t.IsComplex() }

// RequireGrad asks for a gradient to reach x, which must be a leaf of floats or complex
// numbers, and returns x.
func (x *Tensor) RequireGrad() *Tensor {
	switch {
	case x.node != nil:
		fail("require grad", ErrState, "%v was computed, only leaves can require a gradient; call Detach first", x.array)
	case x.format != nil:
		x.checkFormat("require grad", nil)
	case x.IsLazy():
		fail("require grad", ErrState, "%v is read when it is used; call CPU() first", x.array)
	case !hasGradient(x.DType()):
		fail("require grad", ErrType, "%v has no gradient; Cast it to a float type first", x.array)
	}
	x.requiresGrad = true
	return x
}

// RequiresGrad reports whether a gradient flows to x: it is a leaf that requires
// one, or was computed from such.
func (x *Tensor) RequiresGrad() bool { return x.requiresGrad }

// Detach returns x's value as a constant: no gradient flows through it.
func (x *Tensor) Detach() *Tensor {
	return &Tensor{array: x.array, format: x.format, noGrad: x.noGrad, tape: x.tape, block: x.block}
}

// Clone returns a copy of x, row-major, in memory of the same lifetime. Gradients flow
// through it.
func (x *Tensor) Clone() *Tensor { return Apply(copied{}, x) }

// CloneDetached returns a constant equal to x in memory of its own, row-major, that
// outlives the step.
func (x *Tensor) CloneDetached() *Tensor {
	x.checkAlive("clone")
	if x.IsLazy() {
		return &Tensor{array: x.CPU().array, format: x.format}
	}
	c := Context{device: device("clone", x)}
	y, err := c.Alloc(x.DType(), views.Of(x.Shape()...))
	check("clone", err)
	check("clone", c.Run(kernels.Copy, nil, []storage.Array{y}, x.array))
	return &Tensor{array: y, format: x.format}
}

// CopyTo copies x's elements to dst, converting types. See [storage.Array.CopyTo].
func (x *Tensor) CopyTo(dst storage.Array) error {
	if err := x.aliveErr("copy to"); err != nil {
		return err
	}
	defer countRead(x.array, time.Now())
	return x.array.CopyTo(dst)
}

// Tape returns the step that x belongs to, or nil.
func (x *Tensor) Tape() *Tape { return x.tape }

// Item returns the single element of x, which must be a real number that a float64 holds:
// use Values[int64] or Values[complex128] for others.
func (x *Tensor) Item() float64 {
	if x.Len() != 1 {
		fail("item", views.ErrShape, "of %v; want a single element", x.Shape())
	}
	if x.DType().IsComplex() {
		fail("item", ErrType, "of %v has an imaginary part; use Values[complex128]", x.DType())
	}
	item := Values[float64](x)[0]
	if x.DType().IsInt() && math.Abs(item) >= 1<<53 {
		fail("item", ErrType, "%v of 2⁵³ or more may be rounded; use Values[int64]", x.DType())
	}
	return item
}

// Values returns a copy of the elements of x in row-major order, converted to T. It fails
// for an element that T cannot hold, as [storage.Read] does: Cast converts without that check.
func Values[T dtype.Go](x *Tensor) []T {
	x.checkAlive("values")
	x.checkFormat("values", nil)
	x.tape.refuse("reads values")
	defer countRead(x.array, time.Now())
	elems, err := storage.Read[T](x.array)
	check("values", err)
	return elems
}

// checkAlive fails if the memory of x may have been reused.
func (x *Tensor) checkAlive(act string) {
	if err := x.aliveErr(act); err != nil {
		panic(err)
	}
}

func (x *Tensor) aliveErr(act string) error {
	switch {
	case x.tape != nil && x.tape.ended:
		return errEnded(act, x, "belongs to a step that has ended; CloneDetached what must outlive it")
	case x.block != nil && x.block.released:
		return errEnded(act, x, "was released by a backward pass; use it before, CloneDetached it, or set RetainGraph")
	}
	return nil
}

func errEnded(act string, x *Tensor, text string) *Error {
	return &Error{act, errkind.Errorf(ErrState, "%v %s", x.array.Type, text)}
}

// onDevice returns a as a constant on the device that computes with x, and in x's step.
func (x *Tensor) onDevice(a storage.Array) *Tensor {
	d := x.Device()
	if x.IsLazy() {
		d = storage.CPU
	}
	if d == Meta {
		b, err := storage.Make(Meta, a.Type, a.Shape...)
		check("move", err)
		return x.sameStep(b)
	}
	there, err := a.To(d)
	check("move", err)
	return x.sameStep(there)
}

// sameStep returns a, which is not of the step's memory, as a constant in x's step.
func (x *Tensor) sameStep(a storage.Array) *Tensor {
	return &Tensor{array: a, noGrad: x.noGrad, backward: x.backward, tape: x.tape}
}
