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

var _ = registerBroadcasts("sub", (*Tensor).Sub, samples.Normal)
