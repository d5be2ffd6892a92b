package tensor

import "math"

// IsClose returns whether |x − y| ≤ absolute + relative·|y|, elementwise, as bools; equal infinities are close. NaN is
// close to nothing.
func (x *Tensor) IsClose(y *Tensor, relative, absolute float64) *Tensor {
	x, y = promoted("is close", x.Detach(), y.Detach())
	same := x.Eq(y)
	x, y = x.floating(), y.floating()
	limit := y.Abs().MulScalar(relative).AddScalar(absolute)
	return same.BitOr(x.Sub(y).Abs().Le(limit).BitAnd(limit.LtScalar(math.Inf(1))))
}

// AllClose reports whether x and y are as [Tensor.IsClose] everywhere, as PyTorch and NumPy do by default: within 1e-5
// of |y|, and 1e-8.
func (x *Tensor) AllClose(y *Tensor) bool { return allTrue(x.IsClose(y, 1e-5, 1e-8)) }

// Equal reports whether x and y have one shape and equal elements, of any types.
func (x *Tensor) Equal(y *Tensor) bool {
	checkGiven("equal", x, y)
	if len(x.Shape()) != len(y.Shape()) {
		return false
	}
	for axis, size := range x.Shape() {
		if size != y.Shape()[axis] {
			return false
		}
	}
	return allTrue(x.Detach().Eq(y.Detach()))
}

// allTrue reports whether x, of bools, holds everywhere.
func allTrue(x *Tensor) bool { return x.Not().Sum().Item() == 0 }
