package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// Autocast has the step compute products and convolutions of float32 as t, BFloat16
// or Float16, and keep their results so. What needs range or adds up much stays
// or becomes float32: softmax, losses, exponentials, logarithms, norms, sums and
// means. Gradients reach float32 leaves as float32. ()
func (t *Tape) Autocast(to dtype.Type) {
	if to != dtype.BFloat16 && to != dtype.Float16 {
		fail("autocast", ErrType, "to %v; want bfloat16 or float16", to)
	}
	t.autocast = to
}

// AutocastEnabled reports whether x's step computes products as another type than x's own.
func (x *Tensor) AutocastEnabled() bool { return x.autocastType() != dtype.Invalid }

// autocastType returns the type that products of x are computed in, Invalid if that is x's type.
// What derivatives compute has the types of what they are of.
func (x *Tensor) autocastType() dtype.Type {
	if x.tape == nil || x.backward {
		return dtype.Invalid
	}
	return x.tape.autocast
}

// autocast returns the operands of a product, cast as their step says.
func autocast(in ...*Tensor) []*Tensor {
	at := slices.IndexFunc(in, (*Tensor).AutocastEnabled)
	if at < 0 {
		return in
	}
	for i, x := range in {
		if x.Type == dtype.Float32 { // a parameter belongs to no step, its cast does
			in[i] = apply(in[at].tape, cast{in[at].autocastType(), 1, 0}, []*Tensor{x})[0]
		}
	}
	return in
}

// ToFloat32 returns x for operations that need float32: as float32, if it was computed
// in a lower type because its step says so; else x.
func (x *Tensor) ToFloat32() *Tensor {
	if low := x.autocastType(); low == dtype.Invalid || x.Type != low {
		return x
	}
	return x.Cast(dtype.Float32)
}
