package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Sqrt returns the square root of x, elementwise.
func (x *Tensor) Sqrt() *Tensor { return Apply(unaryOp{kernels.Sqrt, sqrtGrad}, x) }

func sqrtGrad(x, y, dy *Tensor) *Tensor { return dy.Div(y).MulScalar(0.5) }

var _ = Register("sqrt", unary((*Tensor).Sqrt), In(3, 4).Of(Positive).Rows())
