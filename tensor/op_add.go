package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Add returns x + y, elementwise, broadcasting their shapes.
func (x *Tensor) Add(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Add, grad: addGrad}, x, y) }

func addGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return dz, dz
}

var (
	_ = Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, In(2, 3).Rows(), In(2, 3).Rows())
	_ = Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, In(2, 3), In(3))
	_ = Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, In(4, 1), In(1, 5))
	_ = Register("add", func(in ...*Tensor) *Tensor { return in[0].Add(in[1]) }, In(2, 3, 4), In())
)
