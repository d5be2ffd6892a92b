package nn

import "github.com/h5dnn/h5dnn/tensor"

// ShrinkOptions are the settings of Hardshrink and Softshrink.
type ShrinkOptions struct {
	Lambda float64 `json:"lambd"` // 0.5 if 0
}

// Hardshrink is x where |x| > λ and 0 elsewhere.
type Hardshrink struct{ ShrinkOptions }

// Softshrink is x moved by λ towards 0 where |x| > λ and 0 elsewhere.
type Softshrink struct{ ShrinkOptions }

// Tanhshrink is x − tanh(x).
type Tanhshrink struct{}

var shrinkDefaults = ShrinkOptions{Lambda: 0.5}

// NewHardshrink returns a Hardshrink.
func NewHardshrink(o ShrinkOptions) Hardshrink { return Hardshrink{withDefaults(o, shrinkDefaults)} }

// NewSoftshrink returns a Softshrink.
func NewSoftshrink(o ShrinkOptions) Softshrink { return Softshrink{withDefaults(o, shrinkDefaults)} }

// Forward applies the activation to x.
func (h Hardshrink) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Mul(x.Detach().Abs().GtScalar(NewHardshrink(h.ShrinkOptions).Lambda).Cast(x.DType()))
}

// Forward applies the activation to x.
func (s Softshrink) Forward(x *tensor.Tensor) *tensor.Tensor {
	lambda := NewSoftshrink(s.ShrinkOptions).Lambda
	return x.Sub(x.Clamp(-lambda, lambda))
}

// Forward applies the activation to x.
func (Tanhshrink) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sub(x.Tanh()) }

// Config returns the settings of o.
func (o ShrinkOptions) Config() any { return withDefaults(o, shrinkDefaults) }

var (
	_ = RegisterLayer("hardshrink", NewHardshrink, shrinkDefaults)
	_ = RegisterLayer("softshrink", NewSoftshrink, shrinkDefaults)
	_ = registerPlain[Tanhshrink](&layers, "tanhshrink")
)
