package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// MaxWithIndex returns the largest element along axis and its index along it, of the first
// of several, as int64; the axis is dropped. The gradient reaches that element only.
func (x *Tensor) MaxWithIndex(axis int) (values, index *Tensor) {
	axis = x.axis("max with index", axis)
	out := ApplyAll(maxIndex{axis}, x)
	return out[0].dropAxes([]int{axis}), out[1].dropAxes([]int{axis})
}

type maxIndex struct{ axis int }

func (maxIndex) Name() string { return "max with index" }

func (op maxIndex) Infer(in []Spec) []Spec {
	index := argmax(op).Infer(in)[0]
	return []Spec{{Type: in[0].Type, View: index.View}, index}
}

func (op maxIndex) Forward(c *Context, out, in []storage.Array) error {
	if err := c.Run(kernels.Max, nil, out[:1], in...); err != nil {
		return err
	}
	return c.Run(kernels.ArgMax, nil, out[1:], in...)
}

func (op maxIndex) Backward(out, grads, in []*Tensor) []*Tensor {
	shape := make([]int, in[0].Rank())
	for axis := range shape {
		shape[axis] = 1
	}
	shape[op.axis] = in[0].Shape[op.axis]
	places := out[1].onDevice(Arange(dtype.Int64, 0, float64(shape[op.axis]), 1).Array).Reshape(shape...)
	return []*Tensor{Where(out[1].Equal(places), grads[0], grads[0].constant(0))}
}

func init() {
	values := func(x *Tensor) *Tensor { v, _ := x.MaxWithIndex(1); return v }
	index := func(x *Tensor) *Tensor { _, i := x.MaxWithIndex(-1); return i }
	samples.Register("max with index", unary(values), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
	samples.Register("max with index", unary(index), samples.In(2, 3, 4).Of(samples.Distinct).Rows())
}
