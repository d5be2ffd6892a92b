package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// LinearOptions are the settings of a Linear.
type LinearOptions struct {
	InFeatures  int                `json:"in_features,omitempty"` // taken from the first input if 0
	OutFeatures int                `json:"out_features"`          // required
	NoBias      Negated            `json:"bias"`
	Initializer InitializerSetting `json:"initializer"`    // kaiming if empty
	DType       dtype.Type         `json:"dtype,omitzero"` // the first input's if absent
	Device      storage.Device     `json:"-" nn:"-"`       // the first input's if nil
}

// Linear is x·Weightᵀ + Bias, for x (N, …, in) and Weight (out, in).
type Linear struct {
	LinearOptions
	Weights
}

// NewLinear returns a Linear, built if InFeatures is given. OutFeatures is required.
func NewLinear(o LinearOptions) *Linear {
	l := &Linear{LinearOptions: o}
	l.Prepare(l.spec())
	return l
}

func (l *Linear) spec() WeightSpec {
	return WeightSpec{
		Layer: "linear", Inputs: &l.InFeatures, Outputs: l.OutFeatures,
		NoBias: l.NoBias, Initializer: &l.Initializer, DType: &l.DType, Device: &l.Device,
	}
}

// Forward returns x·Weightᵀ + Bias.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	return l.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (l *Linear) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkFeatures("linear", x)
	l.BuildFor(l.spec(), x)
	return l.forwardWith(x, l.Weight.Tensor, l.Bias.tensorOf(), act)
}

func (l *Linear) forwardWith(x, weight, bias *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkFeatures("linear", x)
	checkInput("linear", x, weight, x.Rank()-1, l.InFeatures)
	return tensor.Linear(x, weight, bias, act)
}

var _ = RegisterLayer("linear", NewLinear, LinearOptions{})
