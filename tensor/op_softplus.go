package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Softplus returns log(1 + exp(x)), elementwise.
func (x *Tensor) Softplus() *Tensor { return Apply(unaryOp{kernels.Softplus, softplusGrad}, x) }

func softplusGrad(x, _, dy *Tensor) *Tensor { return dy.Mul(x.Sigmoid()) }

var _ = samples.Register("softplus", unary((*Tensor).Softplus), samples.In(3, 4).Rows())
