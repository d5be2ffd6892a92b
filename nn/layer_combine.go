package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Modules that combine the elements of several inputs of one shape.
type (
	Subtract struct{} // the difference of two
	Average  struct{} // the mean
	Maximum  struct{} // the maximum
	Minimum  struct{} // the minimum
)

// Forward fails: a difference takes two inputs.
func (s Subtract) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(s, x) }

// Forward returns x.
func (Average) Forward(x *tensor.Tensor) *tensor.Tensor { return x }
func (Maximum) Forward(x *tensor.Tensor) *tensor.Tensor { return x }
func (Minimum) Forward(x *tensor.Tensor) *tensor.Tensor { return x }

// ForwardAll returns the difference of inputs.
func (Subtract) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	if len(inputs) != 2 {
		tensor.Fail("subtract", views.ErrShape, "%d inputs; want two", len(inputs))
	}
	return []*tensor.Tensor{merge("subtract", inputs, (*tensor.Tensor).Sub)}
}

// ForwardAll returns the mean of inputs.
func (Average) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{merge("average", inputs, (*tensor.Tensor).Add).MulScalar(1 / float64(len(inputs)))}
}

// ForwardAll returns the maximum of inputs.
func (Maximum) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{merge("maximum", inputs, func(x, y *tensor.Tensor) *tensor.Tensor { return tensor.Where(x.Less(y), y, x) })}
}

// ForwardAll returns the minimum of inputs.
func (Minimum) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{merge("minimum", inputs, func(x, y *tensor.Tensor) *tensor.Tensor { return tensor.Where(x.Greater(y), y, x) })}
}

// Config returns no settings.
func (Subtract) Config() any { return struct{}{} }
func (Average) Config() any  { return struct{}{} }
func (Maximum) Config() any  { return struct{}{} }
func (Minimum) Config() any  { return struct{}{} }

var (
	_ = RegisterLayer("subtract", func(struct{}) Subtract { return Subtract{} }, struct{}{})
	_ = RegisterLayer("average", func(struct{}) Average { return Average{} }, struct{}{})
	_ = RegisterLayer("maximum", func(struct{}) Maximum { return Maximum{} }, struct{}{})
	_ = RegisterLayer("minimum", func(struct{}) Minimum { return Minimum{} }, struct{}{})
)
