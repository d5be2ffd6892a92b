package nn

import "github.com/h5dnn/h5dnn/tensor"

// HardtanhOptions are the settings of a Hardtanh.
type HardtanhOptions struct {
	Min float64 `json:"min"` // with Max 0, both are −1 and 1
	Max float64 `json:"max"`
}

// Hardtanh is x limited to Min and Max. ReLU6 is the one from 0 to 6.
type Hardtanh struct{ HardtanhOptions }

var hardtanhDefaults = HardtanhOptions{Min: -1, Max: 1}

// NewHardtanh returns a Hardtanh.
func NewHardtanh(o HardtanhOptions) Hardtanh { return newHardtanh(Hardtanh{o}.options()) }

func newHardtanh(o HardtanhOptions) Hardtanh {
	if !(o.Min < o.Max) {
		tensor.Fail("hardtanh", ErrConfig, "min %v and max %v; want min below max", o.Min, o.Max)
	}
	return Hardtanh{o}
}

// Forward applies the activation to x.
func (h Hardtanh) Forward(x *tensor.Tensor) *tensor.Tensor {
	h = newHardtanh(h.options())
	low, high := constantLike(x, h.Min), constantLike(x, h.Max)
	x = tensor.Where(x.LessEqual(low), low, x) // no gradient at the limits, as in PyTorch
	return tensor.Where(x.GreaterEqual(high), high, x)
}

// constantLike returns a tensor of the shape, type and device of x that is value
// everywhere.
func constantLike(x *tensor.Tensor, value float64) *tensor.Tensor {
	x = x.Detach()
	zeros := x.Less(x).Cast(x.Type) // also where x is not a number
	return zeros.AddScalar(value)
}

// isPositive returns whether x > 0, as bools.
func isPositive(x *tensor.Tensor) *tensor.Tensor {
	x = x.Detach()
	return x.Greater(x.Neg())
}

// withGradientOf returns the value of y with the gradient of z, whose elements are finite or NaN.
func withGradientOf(y, z *tensor.Tensor) *tensor.Tensor {
	return y.Detach().Add(z.Sub(z.Detach()))
}

// options returns the settings, with defaults if both are 0.
func (h Hardtanh) options() HardtanhOptions {
	if h.HardtanhOptions == (HardtanhOptions{}) {
		return hardtanhDefaults
	}
	return h.HardtanhOptions
}

// Config returns the settings of h.
func (h Hardtanh) Config() any { return h.options() }

var _ = RegisterLayer("hardtanh", newHardtanh, hardtanhDefaults)
