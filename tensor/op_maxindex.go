package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// MaxWithIndex returns the largest element along axis and its index along it, of the first
// of several, as int64; the axis is dropped. A NaN is larger than any number. The gradient
// reaches that element only.
func (x *Tensor) MaxWithIndex(axis int) (values, index *Tensor) {
	axis = x.axis("max with index", axis)
	out := ApplyAll(maxIndex{axis}, x)
	return out[0].dropAxes([]int{axis}), out[1].dropAxes([]int{axis})
}

// MinWithIndex is [Tensor.MaxWithIndex] of the smallest element; a NaN is smaller than any number.
func (x *Tensor) MinWithIndex(axis int) (values, index *Tensor) {
	values, index = x.reversed().MaxWithIndex(axis)
	return values.reversed().Cast(x.DType()), index
}

type maxIndex struct{ axis int }

func (maxIndex) Name() string { return "max with index" }

func (op maxIndex) Infer(in []Spec) []Spec {
	index := argmax(op).Infer(in)[0]
	return []Spec{{Type: in[0].Type, View: index.View}, {Type: dtype.Int64, View: index.View}}
}

func (op maxIndex) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.MaxIndex, nil, out, in...)
}

func (op maxIndex) Backward(out, grads, in []*Tensor) []*Tensor {
	return []*Tensor{in[0].constant(0).Scatter(op.axis, out[1], grads[0])}
}

func init() {
	values := func(x *Tensor) *Tensor { v, _ := x.MaxWithIndex(1); return v }
	index := func(x *Tensor) *Tensor { _, i := x.MaxWithIndex(-1); return i }
	least := func(x *Tensor) *Tensor { v, _ := x.MinWithIndex(1); return v }
	samples.Register("min with index", unary(least), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
	square := func(x *Tensor) *Tensor { v, _ := x.MaxWithIndex(0); return v.Mul(v) } // with a second derivative
	samples.Register("values of max with index", unary(values), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
	samples.Register("index of max with index", unary(index), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
	samples.Register("squares of max with index", unary(square), samples.In(3, 4).Of(samples.Distinct))
}
