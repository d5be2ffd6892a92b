package tensor

import "github.com/h5dnn/h5dnn/tensor/internal/samples"

// withOperand is withNumber, or f of the promoted operands if v is a *Tensor.
func (x *Tensor) withOperand(act string, v any, f func(x, y *Tensor) *Tensor) *Tensor {
	if y, ok := v.(*Tensor); ok {
		x, y = promoted(act, x, y)
		return f(x, y)
	}
	return x.withNumber(act, v, f)
}

// Lerp returns x + weight·(end − x), elementwise; weight is a number or a *Tensor, and shapes broadcast.
func (x *Tensor) Lerp(end *Tensor, weight any) *Tensor {
	return x.Add(end.Sub(x).withOperand("lerp", weight, (*Tensor).Mul))
}

// AddCMul returns x + value·y·z, elementwise; value is a number.
func (x *Tensor) AddCMul(y, z *Tensor, value any) *Tensor { return x.Add(y.Mul(z).MulScalar(value)) }

// AddCDiv returns x + value·y/z, elementwise, as [Tensor.Div] divides; value is a number.
func (x *Tensor) AddCDiv(y, z *Tensor, value any) *Tensor { return x.Add(y.MulScalar(value).Div(z)) }

var (
	_ = samples.Register("lerp", func(in ...*Tensor) *Tensor { return in[0].Lerp(in[1], 0.25) }, samples.In(3, 4).Rows(), samples.In(4))
	_ = samples.Register("lerp tensors", func(in ...*Tensor) *Tensor { return in[0].Lerp(in[1], in[2]) }, samples.In(3, 4).Rows(), samples.In(4), samples.In(3, 1).Rows())
	_ = samples.Register("addcmul", func(in ...*Tensor) *Tensor { return in[0].AddCMul(in[1], in[2], 0.5) }, samples.In(3, 4).Rows(), samples.In(4), samples.In(3, 1).Rows())
	_ = samples.Register("addcdiv", func(in ...*Tensor) *Tensor { return in[0].AddCDiv(in[1], in[2], 0.5) }, samples.In(3, 4).Rows(), samples.In(4), samples.In(3, 1).Of(samples.Positive).Rows())
)
