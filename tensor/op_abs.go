package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Abs returns |x|, elementwise; its derivative at 0 is 0.
func (x *Tensor) Abs() *Tensor { return x.unary(kernels.Abs, absGrad) }

func absGrad(x, y, dy *Tensor) *Tensor {
	zero := x.constant(0)
	return Where(x.Gt(zero), dy, Where(x.Lt(zero), dy.Neg(), zero))
}

var _ = samples.Register("abs", unary((*Tensor).Abs), samples.In(3, 4).Of(samples.Distinct).Rows())
