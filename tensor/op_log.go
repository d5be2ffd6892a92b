package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Log returns the natural logarithm of x, elementwise.
func (x *Tensor) Log() *Tensor { return x.pointwise(kernels.Log, logGrad) }

func logGrad(x, y, dy *Tensor) *Tensor { return dy.Div(x) }

var _ = samples.Register("log", unary((*Tensor).Log), samples.In(3, 4).Of(samples.Positive).Rows())
