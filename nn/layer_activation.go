package nn

import "github.com/h5dnn/h5dnn/tensor"

// Activations as modules. After a Linear, Dense or Conv2d a Sequential has that
// layer apply ReLU, Tanh and Sigmoid on its way out.
type (
	ReLU    struct{} // max(x, 0)
	Tanh    struct{} // the hyperbolic tangent
	Sigmoid struct{} // 1/(1 + exp(−x))
)

// Forward applies the activation to x.
func (ReLU) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.ReLU() }
func (Tanh) Forward(x *tensor.Tensor) *tensor.Tensor    { return x.Tanh() }
func (Sigmoid) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Sigmoid() }

// Config returns no settings.
func (ReLU) Config() any    { return struct{}{} }
func (Tanh) Config() any    { return struct{}{} }
func (Sigmoid) Config() any { return struct{}{} }

func (ReLU) fusible() tensor.Activation    { return tensor.ReLUActivation }
func (Tanh) fusible() tensor.Activation    { return tensor.TanhActivation }
func (Sigmoid) fusible() tensor.Activation { return tensor.SigmoidActivation }

// Softmax turns the elements along Axis into probabilities.
type Softmax struct{ SoftmaxSet }

// A SoftmaxSet is the settings of a Softmax.
type SoftmaxSet struct {
	Axis *int `json:"axis,omitempty"` // the last if nil
}

// Forward returns the probabilities.
func (s Softmax) Forward(x *tensor.Tensor) *tensor.Tensor {
	if s.Axis == nil {
		return x.Softmax(-1)
	}
	return x.Softmax(*s.Axis)
}

// Config returns s's settings.
func (s Softmax) Config() any { return s.SoftmaxSet }

var (
	_ = RegisterLayer("relu", func(struct{}) ReLU { return ReLU{} }, struct{}{})
	_ = RegisterLayer("tanh", func(struct{}) Tanh { return Tanh{} }, struct{}{})
	_ = RegisterLayer("sigmoid", func(struct{}) Sigmoid { return Sigmoid{} }, struct{}{})
	_ = RegisterLayer("softmax", func(set SoftmaxSet) Softmax { return Softmax{set} }, SoftmaxSet{})
)
