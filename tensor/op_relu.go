package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// ReLU returns max(x, 0), elementwise; its derivative at 0 is 0.
func (x *Tensor) ReLU() *Tensor {
	if x != nil && x.DType().IsInt() {
		return x.Maximum(x.constant(0))
	}
	return Apply(unaryOp{kernels.ReLU, reluGrad}, x)
}

func reluGrad(x, y, dy *Tensor) *Tensor {
	if !dy.noGrad {
		return epilogue{act: ReLUActivation}.gradOfValue(y, dy)
	}
	return runKernel(kernels.ReLUGrad, nil, like(y), y, dy)
}

var _ = samples.Register("relu", unary((*Tensor).ReLU), samples.In(3, 4).Of(samples.Distinct).Rows())
