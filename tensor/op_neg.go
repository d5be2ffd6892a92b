package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Neg returns −x, elementwise.
func (x *Tensor) Neg() *Tensor { return Apply(unaryOp{kernels.Neg, negGrad}, x) }

func negGrad(x, y, dy *Tensor) *Tensor { return dy.Neg() }

var _ = Register("neg", unary((*Tensor).Neg), In(3, 4).Rows())
