package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Sigmoid returns 1/(1 + e⁻ˣ), elementwise.
func (x *Tensor) Sigmoid() *Tensor { return Apply(unaryOp{kernels.Sigmoid, sigmoidGrad}, x) }

func sigmoidGrad(x, y, dy *Tensor) *Tensor {
	return runKernel(kernels.SigmoidSlope, nil, like(y), y, dy)
}

var _ = Register("sigmoid", unary((*Tensor).Sigmoid), In(3, 4).Rows())
