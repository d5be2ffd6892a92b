package tensor

import "github.com/h5dnn/h5dnn/kernels"

// Div returns x / y, elementwise, broadcasting their shapes.
func (x *Tensor) Div(y *Tensor) *Tensor { return binary(binaryOp{f: kernels.Div, grad: divGrad}, x, y) }

func divGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return x.ifNeeded(func() *Tensor { return dz.Div(y) }), y.ifNeeded(func() *Tensor { return dz.Mul(z).Div(y).Neg() })
}

var (
	_ = Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, In(2, 3).Rows(), In(2, 3).Of(Positive).Rows())
	_ = Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, In(2, 3), In(3).Of(Positive))
	_ = Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, In(4, 1), In(1, 5).Of(Positive))
	_ = Register("div", func(in ...*Tensor) *Tensor { return in[0].Div(in[1]) }, In(2, 3, 4), In().Of(Positive))
)
