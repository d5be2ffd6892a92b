package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Add returns x + y, elementwise, broadcasting their shapes.
func (x *Tensor) Add(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Add, grad: addGrad}, x, y) }

func addGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return dz, dz
}

var _ = registerBroadcasts("add", (*Tensor).Add, samples.Normal)
