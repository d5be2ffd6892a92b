package nn

import "github.com/h5dnn/h5dnn/tensor"

// Activations made of straight lines.
type (
	ReLU6       struct{} // x limited to 0 and 6
	Hardsigmoid struct{} // x/6 + ½ limited to 0 and 1, as PyTorch and Keras 3 have it
	Hardswish   struct{} // x·hardsigmoid(x) (Howard et al., arXiv:1905.02244)
)

// Forward applies the activation to x.
func (ReLU6) Forward(x *tensor.Tensor) *tensor.Tensor       { return x.ReLU6() }
func (Hardsigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Hardsigmoid() }
func (Hardswish) Forward(x *tensor.Tensor) *tensor.Tensor   { return x.Hardswish() }

// ThresholdOptions are the settings of a Threshold.
type ThresholdOptions struct {
	Threshold float64 `json:"threshold"`
	Value     float64 `json:"value"`
}

// Threshold is x where x is above a threshold, and a value elsewhere.
type Threshold struct{ ThresholdOptions }

// NewThreshold returns a Threshold.
func NewThreshold(o ThresholdOptions) Threshold { return Threshold{o} }

// Forward applies the activation to x.
func (t Threshold) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Threshold(t.ThresholdOptions.Threshold, t.Value)
}

var (
	_ = registerPlain[ReLU6](&layers, "relu6")
	_ = registerPlain[Hardsigmoid](&layers, "hardsigmoid")
	_ = registerPlain[Hardswish](&layers, "hardswish")
	_ = layers.aliases("hardswish", "hard_silu")
	_ = RegisterLayer("threshold", NewThreshold, ThresholdOptions{})
)
