package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Relu returns max(x, 0), elementwise; its derivative at 0 is 0.
func (x *Tensor) Relu() *Tensor { return Apply(elementwise{kernels.Relu, reluSlope}, x) }

func reluSlope(x, y, dy *Tensor) *Tensor { return compute(kernels.ReluSlope, nil, like(y), y, dy) }

var _ = Register("relu", unary((*Tensor).Relu), In(3, 4).Of(Distinct).Rows())
