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

var _ = registerBroadcasts("mul", (*Tensor).Mul, samples.Normal)
