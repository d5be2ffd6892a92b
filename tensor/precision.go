package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// Lower has the step compute products and convolutions of float32 as t, BFloat16
// or Float16, and keep their results so. What needs range or adds up much stays
// or becomes float32: softmax, losses, exponentials, logarithms, norms, sums and
// means. Gradients reach float32 leaves as float32. (PyTorch calls it autocast.)
func (t *Tape) Lower(to dtype.Type) {
	if to != dtype.BFloat16 && to != dtype.Float16 {
		fail("lower", ErrType, "to %v; want bfloat16 or float16", to)
	}
	t.low = to
}

// Lowered reports whether x's step computes products as another type than x's own.
func (x *Tensor) Lowered() bool { return x.lower() != dtype.Invalid }

// lower returns what products of x are computed as, Invalid if that is x's type.
// What derivatives compute has the types of what they are of.
func (x *Tensor) lower() dtype.Type {
	if x.tape == nil || x.quiet && !x.tape.quiet {
		return dtype.Invalid
	}
	return x.tape.low
}

// lowered returns the operands of a product as their step wants them.
func lowered(in ...*Tensor) []*Tensor {
	at := slices.IndexFunc(in, (*Tensor).Lowered)
	if at < 0 {
		return in
	}
	for i, x := range in {
		if x.Type == dtype.Float32 { // a parameter belongs to no step, its cast does
			in[i] = apply(in[at].tape, cast{in[at].lower(), 1, 0}, x)
		}
	}
	return in
}

// Widened returns x as what needs float32 wants it: float32, if it was computed
// in a lower type because its step says so; else x.
func (x *Tensor) Widened() *Tensor {
	if low := x.lower(); low == dtype.Invalid || x.Type != low {
		return x
	}
	return x.Cast(dtype.Float32)
}
