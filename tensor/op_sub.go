package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Sub returns x − y, elementwise, broadcasting their shapes.
func (x *Tensor) Sub(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Sub, grad: subGrad}, x, y) }

func subGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return dz, y.ifNeeded(dz.Neg)
}

var (
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(2, 3).Rows(), In(2, 3).Rows())
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(2, 3), In(3))
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(4, 1), In(1, 5))
	_ = Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, In(2, 3, 4), In())
)
