package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Exp returns eˣ, elementwise.
func (x *Tensor) Exp() *Tensor { return x.pointwise(kernels.Exp, expGrad) }

func expGrad(x, y, dy *Tensor) *Tensor { return dy.Mul(y) }

var _ = samples.Register("exp", unary((*Tensor).Exp), samples.In(3, 4).Rows())
