package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Tanh returns the hyperbolic tangent of x, elementwise.
func (x *Tensor) Tanh() *Tensor { return Apply(unaryOp{kernels.Tanh, tanhGrad}, x.floating()) }

func tanhGrad(x, y, dy *Tensor) *Tensor {
	if !dy.noGrad {
		return epilogue{act: TanhActivation}.gradOfValue(y, dy)
	}
	return runKernel(kernels.TanhGrad, nil, like(y), y, dy)
}

var _ = samples.Register("tanh", unary((*Tensor).Tanh), samples.In(3, 4).Rows())
