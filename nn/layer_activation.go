package nn

import "github.com/h5dnn/h5dnn/tensor"

// Activations as modules. They are fused with a product, convolution or batch norm
// before them: see [ActivatedLayer].
type (
	ReLU    struct{} // max(x, 0)
	Tanh    struct{} // the hyperbolic tangent
	Sigmoid struct{} // 1/(1 + exp(−x))
	SiLU    struct{} // x/(1 + exp(−x))
)

// Forward applies the activation to x.
func (ReLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.ReLU() }
func (Tanh) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Tanh() }
func (Sigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sigmoid() }
func (SiLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.SiLU() }

// Config returns no settings.
func (ReLU) Config() any    { return struct{}{} }
func (Tanh) Config() any    { return struct{}{} }
func (Sigmoid) Config() any { return struct{}{} }
func (SiLU) Config() any    { return struct{}{} }

// Activation returns the activation for an ActivatedLayer.
func (ReLU) Activation() tensor.Activation    { return tensor.ReLUActivation }
func (Tanh) Activation() tensor.Activation    { return tensor.TanhActivation }
func (Sigmoid) Activation() tensor.Activation { return tensor.SigmoidActivation }
func (SiLU) Activation() tensor.Activation    { return tensor.SiLUActivation }

// Softmax turns the elements along Axis into probabilities.
type Softmax struct{ SoftmaxOptions }

// SoftmaxOptions are the settings of a Softmax.
type SoftmaxOptions struct {
	Axis *int `json:"axis,omitempty"` // the last if nil
}

// NewSoftmax returns a softmax.
func NewSoftmax(o SoftmaxOptions) Softmax { return Softmax{o} }

// Forward returns the softmax of x.
func (s Softmax) Forward(x *tensor.Tensor) *tensor.Tensor {
	if s.Axis == nil {
		return x.Softmax(-1)
	}
	return x.Softmax(*s.Axis)
}

// Config returns the settings of s.
func (s Softmax) Config() any { return s.SoftmaxOptions }

var (
	_ = RegisterLayer("relu", func(struct{}) ReLU { return ReLU{} }, struct{}{})
	_ = RegisterLayer("tanh", func(struct{}) Tanh { return Tanh{} }, struct{}{})
	_ = RegisterLayer("sigmoid", func(struct{}) Sigmoid { return Sigmoid{} }, struct{}{})
	_ = RegisterLayer("silu", func(struct{}) SiLU { return SiLU{} }, struct{}{})
	_ = layers.aliases("silu", "swish")
	_ = RegisterLayer("softmax", NewSoftmax, SoftmaxOptions{})
)
