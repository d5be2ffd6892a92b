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
	return x.Hardtanh(h.Min, h.Max)
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
