package nn

import "github.com/h5dnn/h5dnn/tensor"

// RescaleOptions are the settings of a Rescale.
type RescaleOptions struct {
	Scale  float64 `json:"scale"` // 1 if 0
	Offset float64 `json:"offset,omitempty"`
}

// Rescale is x·Scale + Offset.
type Rescale struct {
	RescaleOptions
	made bool // by a constructor, so that a zero is a setting
}

var rescaleDefaults = RescaleOptions{Scale: 1}

// NewRescale returns a Rescale.
func NewRescale(o RescaleOptions) Rescale { return Rescale{withDefaults(o, rescaleDefaults), true} }

// Forward returns x·Scale + Offset.
func (r Rescale) Forward(x *tensor.Tensor) *tensor.Tensor {
	o := r.options()
	return x.MulScalar(o.Scale).AddScalar(o.Offset)
}

// options returns the settings.
func (r Rescale) options() RescaleOptions {
	return settingsOf(r.made, r.RescaleOptions, rescaleDefaults)
}

// Config returns the settings of r.
func (r Rescale) Config() any { return r.options() }

var _ = RegisterLayer("rescale", func(o RescaleOptions) Rescale { return Rescale{o, true} }, rescaleDefaults)
