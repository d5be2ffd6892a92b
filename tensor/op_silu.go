package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// SiLU returns x·sigmoid(x), elementwise, also called swish.
func (x *Tensor) SiLU() *Tensor { return Apply(unaryOp{kernels.SiLU, siluGrad}, x) }

// siluGrad returns dy·s·(1 + x·(1 − s)) for s = sigmoid(x).
func siluGrad(x, y, dy *Tensor) *Tensor {
	if dy.noGrad {
		return runKernel(kernels.SiLUGrad, nil, like(y), x, dy)
	}
	s := x.Sigmoid()
	return dy.Mul(s).Mul(x.Mul(s.Neg().AddScalar(1)).AddScalar(1))
}

var _ = samples.Register("silu", unary((*Tensor).SiLU), samples.In(3, 4).Rows())
