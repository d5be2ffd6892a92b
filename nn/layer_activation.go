package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Activations as modules. They are fused with a product, convolution or batch norm
// before them: see [ActivatedLayer].
type (
	ReLU    struct{} // max(x, 0)
	Tanh    struct{} // the hyperbolic tangent
	Sigmoid struct{} // 1/(1 + exp(−x))
	SiLU    struct{} // x/(1 + exp(−x))
)

// Activations that are kernels of their own.
type (
	Softplus    struct{} // log(1 + exp(x))
	Softsign    struct{} // x/(1 + |x|)
	Exponential struct{} // exp(x)
	Mish        struct{} // x·tanh(softplus(x)) (Misra, arXiv:1908.08681)
	LogSigmoid  struct{} // log(1/(1 + exp(−x)))
	Squareplus  struct{} // (x + √(x² + 4))/2 (Barron, arXiv:2112.11687)
)

// Forward applies the activation to x.
func (ReLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.ReLU() }
func (Tanh) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Tanh() }
func (Sigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sigmoid() }
func (SiLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.SiLU() }

// Forward applies the activation to x.
func (Softplus) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Softplus() }
func (Softsign) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Softsign() }
func (Exponential) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Exp() }
func (Mish) Forward(x *tensor.Tensor) *tensor.Tensor        { return x.Mish() }
func (LogSigmoid) Forward(x *tensor.Tensor) *tensor.Tensor  { return x.LogSigmoid() }
func (Squareplus) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Mul(x).AddScalar(4).Sqrt().Add(x).MulScalar(0.5)
}

// Activation returns the activation for an ActivatedLayer.
func (ReLU) Activation() tensor.Activation    { return tensor.ReLUActivation }
func (Tanh) Activation() tensor.Activation    { return tensor.TanhActivation }
func (Sigmoid) Activation() tensor.Activation { return tensor.SigmoidActivation }
func (SiLU) Activation() tensor.Activation    { return tensor.SiLUActivation }

// Activations along an axis.
type (
	Softmax    struct{ SoftmaxOptions } // probabilities
	LogSoftmax struct{ SoftmaxOptions } // their logarithms
	GLU        struct{ SoftmaxOptions } // a·sigmoid(b) of the halves a and b of x (Dauphin et al., arXiv:1612.08083)
)

// SoftmaxOptions are the settings of a Softmax, a LogSoftmax and a GLU.
type SoftmaxOptions struct {
	Axis *int `json:"axis,omitempty"` // the last if nil
}

// NewSoftmax returns a softmax.
func NewSoftmax(o SoftmaxOptions) Softmax { return Softmax{o} }

// NewLogSoftmax returns a LogSoftmax.
func NewLogSoftmax(o SoftmaxOptions) LogSoftmax { return LogSoftmax{o} }

// NewGLU returns a GLU.
func NewGLU(o SoftmaxOptions) GLU { return GLU{o} }

// Forward returns the softmax of x.
func (s Softmax) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(s.axis()) }

// Forward returns the logarithm of the softmax of x.
func (s LogSoftmax) Forward(x *tensor.Tensor) *tensor.Tensor { return x.LogSoftmax(s.axis()) }

// Forward returns the first half of x by the sigmoid of the second.
func (s GLU) Forward(x *tensor.Tensor) *tensor.Tensor {
	halves := x.Chunk(s.axis(), 2)
	if len(halves) != 2 || halves[0].Len() != halves[1].Len() {
		tensor.Fail("glu", views.ErrShape, "input %v; want an even number of elements along axis %d", x.Shape(), s.axis())
	}
	return halves[0].Mul(halves[1].Sigmoid())
}

func (o SoftmaxOptions) axis() int {
	if o.Axis == nil {
		return -1
	}
	return *o.Axis
}

var (
	_ = registerPlain[ReLU](&layers, "relu")
	_ = registerPlain[Tanh](&layers, "tanh")
	_ = registerPlain[Sigmoid](&layers, "sigmoid")
	_ = registerPlain[SiLU](&layers, "silu")
	_ = registerPlain[Softplus](&layers, "softplus")
	_ = registerPlain[Softsign](&layers, "softsign")
	_ = registerPlain[Exponential](&layers, "exponential")
	_ = registerPlain[Mish](&layers, "mish")
	_ = registerPlain[LogSigmoid](&layers, "log_sigmoid")
	_ = registerPlain[Squareplus](&layers, "squareplus")
	_ = layers.aliases("silu", "swish")
	_ = RegisterLayer("softmax", NewSoftmax, SoftmaxOptions{})
	_ = RegisterLayer("log_softmax", NewLogSoftmax, SoftmaxOptions{})
	_ = RegisterLayer("glu", NewGLU, SoftmaxOptions{})
)
