package nn

import "github.com/h5dnn/h5dnn/tensor"

// RescaleOptions are the settings of a Rescale.
type RescaleOptions struct {
	Scale  float64 `json:"scale"` // 1 if 0
	Offset float64 `json:"offset,omitempty"`
}

// Rescale is x·Scale + Offset.
type Rescale struct{ RescaleOptions }

var rescaleDefaults = RescaleOptions{Scale: 1}

// NewRescale returns a Rescale.
func NewRescale(o RescaleOptions) Rescale { return Rescale{withDefaults(o, rescaleDefaults)} }

// Forward returns x·Scale + Offset.
func (r Rescale) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.MulScalar(r.Scale).AddScalar(r.Offset)
}

// Config returns the settings of r.
func (r Rescale) Config() any { return r.RescaleOptions }

var _ = RegisterLayer("rescale", func(o RescaleOptions) Rescale { return Rescale{o} }, rescaleDefaults)
