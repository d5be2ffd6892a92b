package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Modules that merge several inputs into one output: inputs of one shape but for axes of one element, along which they are broadcast, or for
// Concat of shapes that differ along its axis.
type (
	Add      struct{} // the sum
	Subtract struct{} // the difference of two
	Multiply struct{} // the product of elements
	Average  struct{} // the mean
	Maximum  struct{} // the maximum
	Minimum  struct{} // the minimum
)

// Concat joins its inputs along an axis.
type Concat struct{ ConcatOptions }

// ConcatOptions are the settings of a Concat.
type ConcatOptions struct {
	Axis int `json:"axis"` // 1, the channels or features, if 0
}

var concatDefaults = ConcatOptions{Axis: 1}

// NewConcat returns a Concat.
func NewConcat(o ConcatOptions) Concat { return newConcat(withDefaults(o, concatDefaults)) }

func newConcat(o ConcatOptions) Concat {
	if o.Axis == 0 {
		tensor.Fail("concat", ErrConfig, "axis 0 has the samples; want another")
	}
	return Concat{o}
}

// Forward returns x.
func (Add) Forward(x *tensor.Tensor) *tensor.Tensor      { return x }
func (Multiply) Forward(x *tensor.Tensor) *tensor.Tensor { return x }
func (Average) Forward(x *tensor.Tensor) *tensor.Tensor  { return x }
func (Maximum) Forward(x *tensor.Tensor) *tensor.Tensor  { return x }
func (Minimum) Forward(x *tensor.Tensor) *tensor.Tensor  { return x }
func (Concat) Forward(x *tensor.Tensor) *tensor.Tensor   { return x }

// Forward fails: a difference takes two inputs.
func (s Subtract) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(s, x) }

// ForwardAll returns the sum of inputs.
func (Add) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{merge("add", inputs, (*tensor.Tensor).Add)}
}

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
	return []*tensor.Tensor{merge("maximum", inputs, func(x, y *tensor.Tensor) *tensor.Tensor { return tensor.Where(x.Lt(y), y, x) })}
}

// ForwardAll returns the minimum of inputs.
func (Minimum) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{merge("minimum", inputs, func(x, y *tensor.Tensor) *tensor.Tensor { return tensor.Where(x.Gt(y), y, x) })}
}

// ForwardAll returns the product of inputs.
func (Multiply) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{merge("mul", inputs, (*tensor.Tensor).Mul)}
}

// ForwardAll returns inputs joined along the axis.
func (c Concat) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	checkInputs("concat", inputs)
	for _, x := range inputs[1:] {
		if a, b := inputs[0].Shape(), x.Shape(); c.Axis == 1 && len(a) == len(b) && len(a) > 2 && !slices.Equal(a[2:], b[2:]) {
			tensor.Fail("concat", views.ErrShape, "inputs %v and %v; want equal sizes but for axis 1: samples with sizes that all poolings before divide, multiples of 8 for unet; pad or resize them", a, b)
		}
	}
	return []*tensor.Tensor{tensor.Cat(c.Axis, inputs...)}
}

func merge(layer string, inputs []*tensor.Tensor, f func(x, y *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	checkInputs(layer, inputs)
	z := inputs[0]
	for _, x := range inputs[1:] {
		if !alike(x.Shape(), z.Shape()) {
			tensor.Fail(layer, views.ErrShape, "inputs %v and %v; want one shape, but for axes of one element", z.Shape(), x.Shape())
		}
		z = f(z, x)
	}
	return z
}

// alike reports whether two shapes have the same number of samples and of axes, and differ along axes of one element alone.
func alike(a, b []int) bool {
	for axis := range min(len(a), len(b)) {
		if a[axis] != b[axis] && (axis == 0 || a[axis] != 1 && b[axis] != 1) {
			return false
		}
	}
	return len(a) == len(b)
}

func checkInputs(layer string, inputs []*tensor.Tensor) {
	if len(inputs) == 0 {
		tensor.Fail(layer, views.ErrShape, "no inputs; want at least one")
	}
}

var (
	_ = registerPlain[Add](&layers, "add")
	_ = registerPlain[Subtract](&layers, "subtract")
	_ = registerPlain[Multiply](&layers, "mul")
	_ = registerPlain[Average](&layers, "average")
	_ = registerPlain[Maximum](&layers, "maximum")
	_ = registerPlain[Minimum](&layers, "minimum")
	_ = RegisterLayer("concat", newConcat, concatDefaults)
)
