package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Neg returns −x, elementwise.
func (x *Tensor) Neg() *Tensor { return x.unary(kernels.Neg, negGrad) }

func negGrad(x, y, dy *Tensor) *Tensor { return dy.Neg() }

var _ = samples.Register("neg", unary((*Tensor).Neg), samples.In(3, 4).Rows())
