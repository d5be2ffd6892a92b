package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Abs returns |x|, elementwise; its derivative at 0 is 0.
func (x *Tensor) Abs() *Tensor { return Apply(unaryOp{kernels.Abs, absGrad}, x) }

func absGrad(x, y, dy *Tensor) *Tensor {
	zero := x.constant(0)
	return Where(x.Greater(zero), dy, Where(x.Less(zero), dy.Neg(), zero))
}

var _ = Register("abs", unary((*Tensor).Abs), In(3, 4).Of(Distinct).Rows())
