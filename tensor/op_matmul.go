package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// MatMul returns the matrix product of the last two axes of x and y, for each
// place along the axes before, which are broadcast. A vector, with one axis, is a row of x or a column of y, and
// the result has no axis for it. Products of integers are made of elementwise ones, and need memory for all of these.
// Quantized factors are dequantized: their product is float32.
func (x *Tensor) MatMul(y *Tensor) *Tensor {
	checkGiven("matmul", x, y)
	switch {
	case y.Rank() == 1 && x.Rank() > 0:
		return x.MatMul(y.Unsqueeze(-1)).Squeeze(-1)
	case x.Rank() == 1 && y.Rank() > 1:
		return x.Unsqueeze(0).MatMul(y).Squeeze(-2)
	}
	in := autocast(x.Dequantize(), y.Dequantize())
	x, y = promoted("matmul", in[0], in[1])
	if x.DType().IsInt() && x.format == nil && y.format == nil && x.DType() == y.DType() {
		out := matmul{}.shape(x.Spec(), y.Spec())
		return x.Unsqueeze(-1).Mul(y.Unsqueeze(-3)).Sum(-2).Cast(x.DType()).Expand(out...)
	}
	if x.DType().IsComplex() {
		return complexMatMul(x, y)
	}
	return Apply(matmul{}, x, y)
}

type matmul struct{}

func (matmul) Name() string { return "matmul" }

func (op matmul) Infer(in []Spec) []Spec {
	wantFloat("matmul", in...)
	return one(in[0].Type, views.Of(op.shape(in[0], in[1])...))
}

// shape returns the shape of the product of x and y.
func (matmul) shape(x, y Spec) []int {
	n, m := x.Rank(), y.Rank()
	if n < 2 || m < 2 || x.Shape[n-1] != y.Shape[m-2] {
		fail("matmul", ErrShape, "shapes %v and %v do not chain", x.Shape, y.Shape)
	}
	lead, ok := views.BroadcastShape(x.Shape[:n-2], y.Shape[:m-2])
	if !ok {
		fail("matmul", ErrShape, "leading axes of %v and %v do not broadcast together", x.Shape, y.Shape)
	}
	return append(lead, x.Shape[n-2], y.Shape[m-1])
}

func (matmul) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.MatMul, nil, out, in...)
}

func (matmul) reads(in []*Tensor) (operands uint64, results bool) { return readsOther(in), false }

func (matmul) Backward(out, grads, in []*Tensor) []*Tensor {
	x, y, dz := in[0], in[1], grads[0]
	return []*Tensor{
		x.ifNeeded(func() *Tensor { return dz.MatMul(y.T()).sumTo(x.Shape()) }),
		y.ifNeeded(func() *Tensor { return x.T().MatMul(dz).sumTo(y.Shape()) }),
	}
}

var (
	_ = samples.Register("matmul vector", func(in ...*Tensor) *Tensor { return in[0].MatMul(in[1]) }, samples.In(2, 4, 3).Rows(), samples.In(3))
	_ = samples.Register("matmul vector", func(in ...*Tensor) *Tensor { return in[0].MatMul(in[1]) }, samples.In(3), samples.In(2, 3, 4).Rows())
	_ = samples.Register("matmul", func(in ...*Tensor) *Tensor { return in[0].MatMul(in[1]) }, samples.In(2, 3).Rows(), samples.In(3, 4))
	_ = samples.Register("matmul", func(in ...*Tensor) *Tensor { return in[0].MatMul(in[1]) }, samples.In(5, 2, 3).Rows(), samples.In(3, 4))
	_ = samples.Register("matmul", func(in ...*Tensor) *Tensor { return in[0].MatMul(in[1]) }, samples.In(2, 1, 2, 3), samples.In(3, 3, 4))
)
