package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Relu returns max(x, 0), elementwise; its derivative at 0 is 0.
func (x *Tensor) ReLU() *Tensor { return Apply(unaryOp{kernels.Relu, reluGrad}, x) }

func reluGrad(x, y, dy *Tensor) *Tensor { return runKernel(kernels.ReluSlope, nil, like(y), y, dy) }

var _ = Register("relu", unary((*Tensor).ReLU), In(3, 4).Of(Distinct).Rows())
