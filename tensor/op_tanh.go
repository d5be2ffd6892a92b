package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Tanh returns the hyperbolic tangent of x, elementwise.
func (x *Tensor) Tanh() *Tensor { return Apply(elementwise{kernels.Tanh, tanhSlope}, x) }

func tanhSlope(x, y, dy *Tensor) *Tensor { return compute(kernels.TanhSlope, nil, like(y), y, dy) }

var _ = Register("tanh", unary((*Tensor).Tanh), In(3, 4).Rows())
