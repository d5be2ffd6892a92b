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
func NewHardtanh(o HardtanhOptions) Hardtanh {
	if o == (HardtanhOptions{}) {
		o = hardtanhDefaults
	}
	return newHardtanh(o)
}

func newHardtanh(o HardtanhOptions) Hardtanh {
	if !(o.Min < o.Max) {
		tensor.Fail("hardtanh", ErrConfig, "min %v and max %v; want min below max", o.Min, o.Max)
	}
	return Hardtanh{o}
}

// Forward applies the activation to x.
func (h Hardtanh) Forward(x *tensor.Tensor) *tensor.Tensor {
	low, high := constantLike(x, h.Min), constantLike(x, h.Max)
	x = tensor.Where(x.Less(low), low, x)
	return tensor.Where(x.Greater(high), high, x)
}

// constantLike returns a tensor of the shape, type and device of x that is value
// everywhere.
func constantLike(x *tensor.Tensor, value float64) *tensor.Tensor {
	x = x.Detach()
	zeros := x.Less(x).Cast(x.Type) // also where x is not a number
	return zeros.AddScalar(value)
}

// Config returns the settings of h.
func (h Hardtanh) Config() any { return h.HardtanhOptions }

var _ = RegisterLayer("hardtanh", newHardtanh, hardtanhDefaults)
