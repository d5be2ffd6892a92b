package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Sub returns x − y, elementwise, broadcasting their shapes.
func (x *Tensor) Sub(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Sub, grad: subGrad}, x, y) }

func subGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return dz, y.ifNeeded(dz.Neg)
}

var (
	_ = samples.Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	_ = samples.Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, samples.In(2, 3), samples.In(3))
	_ = samples.Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, samples.In(4, 1), samples.In(1, 5))
	_ = samples.Register("sub", func(in ...*Tensor) *Tensor { return in[0].Sub(in[1]) }, samples.In(2, 3, 4), samples.In())
)
