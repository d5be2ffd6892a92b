package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// Autocast makes the step compute products and convolutions of float32 in the type to,
// BFloat16 or Float16, which is also the type of their results. Operations that need
// range or precision remain in float32: softmax, losses, exponentials, logarithms, norms,
// sums and means. The gradients of float32 leaves are float32.
func (t *Tape) Autocast(to dtype.Type) {
	if to != dtype.BFloat16 && to != dtype.Float16 {
		fail("autocast", ErrType, "to %v; want bfloat16 or float16", to)
	}
	t.autocast = to
}

// RoundProducts makes the step round the operands of products and convolutions of float32 on the CPU to bfloat16, where that makes
// them faster on processors that multiply such numbers. Sums, and so results and gradients, are float32: unlike those of Autocast.
func (t *Tape) RoundProducts() { t.roundsBF16 = true }

// AutocastEnabled reports whether x's step computes products in a narrower type.
func (x *Tensor) AutocastEnabled() bool { return x.autocastType() != dtype.Invalid }

// autocastType returns the type that products of x are computed in, Invalid if that is
// x's own, as it always is in a backward pass.
func (x *Tensor) autocastType() dtype.Type {
	if x == nil || x.tape == nil || x.backward {
		return dtype.Invalid
	}
	return x.tape.autocast
}

// autocast returns the operands of a product, cast to the type that their step computes
// products in.
func autocast(in ...*Tensor) []*Tensor {
	at := slices.IndexFunc(in, (*Tensor).AutocastEnabled)
	if at < 0 {
		return in
	}
	for i, x := range in {
		if x != nil && x.DType() == dtype.Float32 { // a parameter belongs to no step; its cast does
			in[i] = apply(in[at].tape, cast{in[at].autocastType(), 1, 0}, []*Tensor{x})[0]
		}
	}
	return in
}

// ToFloat32 returns x as float32 if autocast computed it in a narrower type, else x
// itself. Operations that need float32 call it.
func (x *Tensor) ToFloat32() *Tensor {
	if low := x.autocastType(); low == dtype.Invalid || x.DType() != low {
		return x
	}
	return x.Cast(dtype.Float32)
}
