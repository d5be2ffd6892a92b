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

var (
	_ = samples.Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	_ = samples.Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, samples.In(2, 3), samples.In(3))
	_ = samples.Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, samples.In(4, 1), samples.In(1, 5))
	_ = samples.Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, samples.In(2, 3, 4), samples.In())
)
