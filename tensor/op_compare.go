package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Elements are compared in the common type of x and y. The common type of int64 and uint64,
// float64, does not hold all of their elements, which are compared exactly: a negative element is
// compared with 0, which is on the same side of it as any uint64, others as uint64.

// Lt returns whether x < y, elementwise, as bools.
func (x *Tensor) Lt(y *Tensor) *Tensor { return compared(kernels.Less, x, y) }

// Le returns whether x ≤ y, elementwise, as bools.
func (x *Tensor) Le(y *Tensor) *Tensor { return compared(kernels.LessEqual, x, y) }

// Gt returns whether x > y, elementwise, as bools.
func (x *Tensor) Gt(y *Tensor) *Tensor { return compared(kernels.Greater, x, y) }

// Ge returns whether x ≥ y, elementwise, as bools.
func (x *Tensor) Ge(y *Tensor) *Tensor {
	return compared(kernels.GreaterEqual, x, y)
}

// Eq returns whether x = y, elementwise, as bools.
func (x *Tensor) Eq(y *Tensor) *Tensor { return compared(kernels.Equal, x, y) }

// Ne returns whether x ≠ y, elementwise, as bools.
func (x *Tensor) Ne(y *Tensor) *Tensor { return compared(kernels.NotEqual, x, y) }

// compared returns the bools of comparison k. It has no gradient.
func compared(k *kernels.Kernel, x, y *Tensor) *Tensor {
	op := binaryOp{f: k, to: dtype.Bool}
	checkGiven(op.Name(), x, y)
	switch {
	case x.DType() == dtype.Int64 && y.DType() == dtype.Uint64:
		zero := x.Sub(x)
		return Where(x.Lt(zero), Apply(op, x, zero), Apply(op, x.Cast(dtype.Uint64), y))
	case x.DType() == dtype.Uint64 && y.DType() == dtype.Int64:
		zero := y.Sub(y)
		return Where(y.Lt(zero), Apply(op, zero, y), Apply(op, x, y.Cast(dtype.Uint64)))
	}
	return binary(op, x, y)
}

var (
	_ = samples.Register("less", func(in ...*Tensor) *Tensor { return in[0].Lt(in[1]) }, samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	_ = samples.Register("less equal", func(in ...*Tensor) *Tensor { return in[0].Le(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
	_ = samples.Register("greater", func(in ...*Tensor) *Tensor { return in[0].Gt(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
	_ = samples.Register("greater equal", func(in ...*Tensor) *Tensor { return in[0].Ge(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
	_ = samples.Register("equal", func(in ...*Tensor) *Tensor { return in[0].Eq(in[0]) }, samples.In(2, 3).Rows())
	_ = samples.Register("not equal", func(in ...*Tensor) *Tensor { return in[0].Ne(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
)
