package nn

import "github.com/h5dnn/h5dnn/tensor"

// LeakyReLUOptions are the settings of a LeakyReLU.
type LeakyReLUOptions struct {
	NegativeSlope float64 `json:"negative_slope"` // 0.01 if 0
}

// LeakyReLU is x where x is positive and NegativeSlope·x elsewhere.
type LeakyReLU struct{ LeakyReLUOptions }

var leakyReLUDefaults = LeakyReLUOptions{NegativeSlope: 0.01}

// NewLeakyReLU returns a leaky ReLU.
func NewLeakyReLU(o LeakyReLUOptions) LeakyReLU {
	return LeakyReLU{withDefaults(o, leakyReLUDefaults)}
}

// Forward applies the activation to x.
func (l LeakyReLU) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.ReLU().Sub(x.Neg().ReLU().MulScalar(l.NegativeSlope))
}

// Config returns the settings of l.
func (l LeakyReLU) Config() any { return l.LeakyReLUOptions }

var _ = RegisterLayer("leaky_relu", func(o LeakyReLUOptions) LeakyReLU { return LeakyReLU{o} }, leakyReLUDefaults)
