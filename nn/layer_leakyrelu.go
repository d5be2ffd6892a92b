package nn

import "github.com/h5dnn/h5dnn/tensor"

// LeakyReLUOptions are the settings of a LeakyReLU.
type LeakyReLUOptions struct {
	NegativeSlope float64 `json:"negative_slope"` // 0.01 if 0
}

// LeakyReLU is x where x is positive and NegativeSlope·x elsewhere.
type LeakyReLU struct {
	LeakyReLUOptions
	made bool // by a constructor, so that a zero is a setting
}

var leakyReLUDefaults = LeakyReLUOptions{NegativeSlope: 0.01}

// NewLeakyReLU returns a leaky ReLU.
func NewLeakyReLU(o LeakyReLUOptions) LeakyReLU {
	return LeakyReLU{withDefaults(o, leakyReLUDefaults), true}
}

// Forward applies the activation to x.
func (l LeakyReLU) Forward(x *tensor.Tensor) *tensor.Tensor {
	return tensor.Where(isPositive(x), x, x.MulScalar(l.options().NegativeSlope))
}

// isPositive returns whether x > 0, as bools.
func isPositive(x *tensor.Tensor) *tensor.Tensor {
	x = x.Detach()
	return x.Gt(x.Neg())
}

// options returns the settings.
func (l LeakyReLU) options() LeakyReLUOptions {
	return settingsOf(l.made, l.LeakyReLUOptions, leakyReLUDefaults)
}

// Config returns the settings of l.
func (l LeakyReLU) Config() any { return l.options() }

var _ = RegisterLayer("leaky_relu", func(o LeakyReLUOptions) LeakyReLU { return LeakyReLU{o, true} }, leakyReLUDefaults)
