package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Sqrt returns the square root of x, elementwise.
func (x *Tensor) Sqrt() *Tensor { return x.floating().unary(kernels.Sqrt, sqrtGrad) }

func sqrtGrad(x, y, dy *Tensor) *Tensor { return dy.Div(y).MulScalar(0.5) }

var _ = samples.Register("sqrt", unary((*Tensor).Sqrt), samples.In(3, 4).Of(samples.Positive).Rows())
