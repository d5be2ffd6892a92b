package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Mul returns x · y, elementwise, broadcasting their shapes.
func (x *Tensor) Mul(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Mul, grad: mulGrad}, x, y) }

func mulGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return x.ifNeeded(func() *Tensor { return dz.Mul(y) }), y.ifNeeded(func() *Tensor { return dz.Mul(x) })
}

var (
	_ = samples.Register("mul", func(in ...*Tensor) *Tensor { return in[0].Mul(in[1]) }, samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	_ = samples.Register("mul", func(in ...*Tensor) *Tensor { return in[0].Mul(in[1]) }, samples.In(2, 3), samples.In(3))
	_ = samples.Register("mul", func(in ...*Tensor) *Tensor { return in[0].Mul(in[1]) }, samples.In(4, 1), samples.In(1, 5))
	_ = samples.Register("mul", func(in ...*Tensor) *Tensor { return in[0].Mul(in[1]) }, samples.In(2, 3, 4), samples.In())
)
