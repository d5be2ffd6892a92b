package nn

import "github.com/h5dnn/h5dnn/tensor"

// Activations as modules. They are fused with a product, convolution or batch norm
// before them: see [ActivatedLayer].
type (
	ReLU    struct{ noSettings } // max(x, 0)
	Tanh    struct{ noSettings } // the hyperbolic tangent
	Sigmoid struct{ noSettings } // 1/(1 + exp(−x))
	SiLU    struct{ noSettings } // x/(1 + exp(−x))
)

// Activations that are kernels of their own.
type (
	Softplus    struct{ noSettings } // log(1 + exp(x))
	Softsign    struct{ noSettings } // x/(1 + |x|)
	Exponential struct{ noSettings } // exp(x)
)

// Forward applies the activation to x.
func (ReLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.ReLU() }
func (Tanh) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Tanh() }
func (Sigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sigmoid() }
func (SiLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.SiLU() }

// Forward applies the activation to x.
func (Softplus) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Softplus() }
func (Softsign) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Div(x.Abs().AddScalar(1)) }
func (Exponential) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Exp() }

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
	_ = registerPlain[ReLU](&layers, "relu")
	_ = registerPlain[Tanh](&layers, "tanh")
	_ = registerPlain[Sigmoid](&layers, "sigmoid")
	_ = registerPlain[SiLU](&layers, "silu")
	_ = registerPlain[Softplus](&layers, "softplus")
	_ = registerPlain[Softsign](&layers, "softsign")
	_ = registerPlain[Exponential](&layers, "exponential")
	_ = layers.aliases("silu", "swish")
	_ = RegisterLayer("softmax", NewSoftmax, SoftmaxOptions{})
)
