package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Tanh returns the hyperbolic tangent of x, elementwise.
func (x *Tensor) Tanh() *Tensor { return Apply(unaryOp{kernels.Tanh, tanhGrad}, x) }

func tanhGrad(x, y, dy *Tensor) *Tensor { return runKernel(kernels.TanhSlope, nil, like(y), y, dy) }

var _ = Register("tanh", unary((*Tensor).Tanh), In(3, 4).Rows())
