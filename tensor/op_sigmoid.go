package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Sigmoid returns 1/(1 + e⁻ˣ), elementwise.
func (x *Tensor) Sigmoid() *Tensor { return Apply(elementwise{kernels.Sigmoid, sigmoidSlope}, x) }

func sigmoidSlope(x, y, dy *Tensor) *Tensor {
	return compute(kernels.SigmoidSlope, nil, like(y), y, dy)
}

var _ = Register("sigmoid", unary((*Tensor).Sigmoid), In(3, 4).Rows())
