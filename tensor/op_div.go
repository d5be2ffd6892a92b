package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Div returns x / y, elementwise, broadcasting their shapes.
func (x *Tensor) Div(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Div, grad: divGrad}, x, y) }

func divGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return x.ifNeeded(func() *Tensor { return dz.Div(y) }), y.ifNeeded(func() *Tensor { return dz.Mul(z).Div(y).Neg() })
}

var (
	_ = samples.Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, samples.In(2, 3).Rows(), samples.In(2, 3).Of(samples.Positive).Rows())
	_ = samples.Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, samples.In(2, 3), samples.In(3).Of(samples.Positive))
	_ = samples.Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, samples.In(4, 1), samples.In(1, 5).Of(samples.Positive))
	_ = samples.Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, samples.In(2, 3, 4), samples.In().Of(samples.Positive))
)
