package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Log returns the natural logarithm of x, elementwise.
func (x *Tensor) Log() *Tensor { return Apply(unaryOp{kernels.Log, logGrad}, x.ToFloat32()) }

func logGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x) }

var _ = Register("log", unary((*Tensor).Log), In(3, 4).Of(Positive).Rows())
