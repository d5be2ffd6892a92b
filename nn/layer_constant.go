package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ConstantOptions are the settings of a Constant.
type ConstantOptions struct {
	Values []float64  `json:"values"`         // in row-major order; required
	Shape  []int      `json:"shape"`          // of a sample; the number of values if nil
	DType  dtype.Type `json:"dtype,omitzero"` // the type of the input if absent
}

// Constant has the same values for each sample of its input: positions, weights of classes, or a table of indices.
type Constant struct {
	ConstantOptions
	values constants
}

// NewConstant returns a Constant. Values are required.
func NewConstant(o ConstantOptions) *Constant {
	if o.Shape == nil {
		o.Shape = []int{len(o.Values)}
	}
	if n := views.Of(o.Shape...).Len(); len(o.Values) == 0 || n != len(o.Values) {
		tensor.Fail("constant", ErrConfig, "%d values of shape %v; want %d, and at least 1", len(o.Values), o.Shape, n)
	}
	return &Constant{ConstantOptions: o}
}

// Forward returns the values for each sample of x: (N, Shape…).
func (c *Constant) Forward(x *tensor.Tensor) *tensor.Tensor {
	t := c.DType
	if t == dtype.Invalid {
		t = x.DType()
	}
	shape := append([]int{1}, c.Shape...)
	y := c.values.on(x, t, func() *tensor.Tensor { return tensor.FromSlice(c.Values, shape...).Cast(t) })
	return y.Expand(append([]int{x.Shape()[0]}, c.Shape...)...)
}

var _ = RegisterLayer("constant", NewConstant, ConstantOptions{})
