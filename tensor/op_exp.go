package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Exp returns eˣ, elementwise.
func (x *Tensor) Exp() *Tensor { return Apply(unaryOp{kernels.Exp, expGrad}, x.ToFloat32()) }

func expGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(y) }

var _ = Register("exp", unary((*Tensor).Exp), In(3, 4).Rows())
