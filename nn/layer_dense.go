package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// DenseOptions are the settings of a Dense.
type DenseOptions struct {
	OutFeatures int                `json:"out_features"`          // required
	InFeatures  int                `json:"in_features,omitempty"` // taken from the first input if 0
	NoBias      Negated            `json:"bias"`
	Initializer InitializerSetting `json:"initializer"`    // kaiming if empty
	DType       dtype.Type         `json:"dtype,omitzero"` // the first input's if absent
	Device      storage.Device     `json:"-" nn:"-"`       // the first input's if nil
}

// Dense is a Linear that takes its number of features from its first input, as
// Keras's Dense does. It has no parameters before.
type Dense struct {
	DenseOptions
	Weights
}

// NewDense returns a Dense, built if InFeatures is given. OutFeatures is required.
func NewDense(o DenseOptions) *Dense {
	d := &Dense{DenseOptions: o}
	d.Prepare(d.spec())
	return d
}

func (d *Dense) spec() WeightSpec {
	return WeightSpec{
		Layer: "dense", Inputs: &d.InFeatures, Outputs: d.OutFeatures,
		NoBias: d.NoBias, Initializer: &d.Initializer, DType: &d.DType, Device: &d.Device,
	}
}

// Forward returns x·Weightᵀ + Bias, for x (N, …, in).
func (d *Dense) Forward(x *tensor.Tensor) *tensor.Tensor {
	return d.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (d *Dense) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkFeatures("dense", x)
	d.BuildFor(d.spec(), x)
	return d.forwardWith(x, d.Weight.Tensor, d.Bias.tensorOf(), act)
}

func (d *Dense) forwardWith(x, weight, bias *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkFeatures("dense", x)
	checkInput("dense", x, weight, x.Rank()-1, d.InFeatures)
	return tensor.Linear(x, weight, bias, act)
}

var _ = RegisterLayer("dense", NewDense, DenseOptions{})
