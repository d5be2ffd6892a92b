package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// LinearOptions are the settings of a Linear.
type LinearOptions struct {
	InFeatures  int                `json:"in_features"`  // required
	OutFeatures int                `json:"out_features"` // required
	NoBias      Negated            `json:"bias"`
	Initializer InitializerSetting `json:"initializer"`    // kaiming if empty
	DType       dtype.Type         `json:"dtype,omitzero"` // float32 if absent
	Device      storage.Device     `json:"-" nn:"-"`       // the CPU if nil
}

// Linear is x·Weightᵀ + Bias, for x (N, …, in) and Weight (out, in).
type Linear struct {
	LinearOptions
	Weights
}

// NewLinear returns a Linear. InFeatures and OutFeatures are required.
func NewLinear(o LinearOptions) *Linear {
	l := &Linear{LinearOptions: o}
	l.build(l.spec(), o.InFeatures, o.Device, o.DType)
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
	if !l.IsBuilt() {
		tensor.Fail("linear", storage.ErrState, "not built; make it by NewLinear")
	}
	return l.forwardWith(x, l.Weight.Tensor, l.Bias.tensorOf(), act)
}

func (l *Linear) forwardWith(x, weight, bias *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkFeatures("linear", x)
	checkInput("linear", x, weight, x.Rank()-1, l.InFeatures)
	return tensor.Linear(x, weight, bias, act)
}

var _ = RegisterLayer("linear", NewLinear, LinearOptions{})
