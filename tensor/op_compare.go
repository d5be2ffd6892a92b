package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Less returns whether x < y, elementwise, as bools.
func (x *Tensor) Less(y *Tensor) *Tensor { return binary(comparison(kernels.Less), x, y) }

// LessEqual returns whether x ≤ y, elementwise, as bools.
func (x *Tensor) LessEqual(y *Tensor) *Tensor { return binary(comparison(kernels.LessEqual), x, y) }

// Greater returns whether x > y, elementwise, as bools.
func (x *Tensor) Greater(y *Tensor) *Tensor { return binary(comparison(kernels.Greater), x, y) }

// GreaterEqual returns whether x ≥ y, elementwise, as bools.
func (x *Tensor) GreaterEqual(y *Tensor) *Tensor {
	return binary(comparison(kernels.GreaterEqual), x, y)
}

// Equal returns whether x = y, elementwise, as bools.
func (x *Tensor) Equal(y *Tensor) *Tensor { return binary(comparison(kernels.Equal), x, y) }

// NotEqual returns whether x ≠ y, elementwise, as bools.
func (x *Tensor) NotEqual(y *Tensor) *Tensor { return binary(comparison(kernels.NotEqual), x, y) }

// comparison is the operation of a kernel whose result is bools. It has no gradient.
func comparison(k *kernels.Kernel) binaryOp { return binaryOp{f: k, to: dtype.Bool} }

var (
	_ = samples.Register("less", func(in ...*Tensor) *Tensor { return in[0].Less(in[1]) }, samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	_ = samples.Register("less equal", func(in ...*Tensor) *Tensor { return in[0].LessEqual(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
	_ = samples.Register("greater", func(in ...*Tensor) *Tensor { return in[0].Greater(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
	_ = samples.Register("greater equal", func(in ...*Tensor) *Tensor { return in[0].GreaterEqual(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
	_ = samples.Register("equal", func(in ...*Tensor) *Tensor { return in[0].Equal(in[0]) }, samples.In(2, 3).Rows())
	_ = samples.Register("not equal", func(in ...*Tensor) *Tensor { return in[0].NotEqual(in[1]) }, samples.In(2, 3).Rows(), samples.In(3))
)
