package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Sigmoid returns 1/(1 + e⁻ˣ), elementwise.
func (x *Tensor) Sigmoid() *Tensor { return Apply(unaryOp{kernels.Sigmoid, sigmoidGrad}, x.floating()) }

func sigmoidGrad(x, y, dy *Tensor) *Tensor {
	if !dy.noGrad {
		return epilogue{act: SigmoidActivation}.gradOfValue(y, dy)
	}
	return runKernel(kernels.SigmoidGrad, nil, like(y), y, dy)
}

var _ = samples.Register("sigmoid", unary((*Tensor).Sigmoid), samples.In(3, 4).Rows())
