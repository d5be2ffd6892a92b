package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A DenseSet is the settings of a Dense.
type DenseSet struct {
	OutFeatures int            `json:"out_features"`
	InFeatures  int            `json:"in_features,omitempty"` // 0 until built
	NoBias      Not            `json:"bias"`
	Initializer string         `json:"initializer"`     // kaiming if empty
	DType       dtype.Type     `json:"dtype,omitempty"` // the first input's if not given
	Device      storage.Device `json:"-" nn:"-"`        // the first input's if nil
}

// Dense is a Linear that learns how many features come in from its first input,
// as Keras's does. Until then it has no parameters.
type Dense struct {
	DenseSet
	Weight *Param // out × in
	Bias   *Param // out; nil without

	from origin
}

// NewDense returns a layer to out features.
func NewDense(out int) *Dense { return NewDenseOf(DenseSet{OutFeatures: out}) }

// NewDenseOf returns a layer as set says, built if it says how many features
// come in.
func NewDenseOf(set DenseSet) *Dense {
	set.Initializer = orKaiming(set.Initializer)
	d := &Dense{DenseSet: set}
	if set.InFeatures != 0 {
		d.build(set)
		return d
	}
	soundYet("dense", set.OutFeatures, set.Initializer, set.DType)
	return d
}

// IsBuilt reports whether d has parameters.
func (d *Dense) IsBuilt() bool { return d.Weight != nil }

// Forward returns x·Weightᵀ + Bias.
func (d *Dense) Forward(x *tensor.Tensor) *tensor.Tensor {
	return d.activated(x, tensor.NoActivation)
}

func (d *Dense) activated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	wantRows("dense", x)
	if !d.IsBuilt() {
		set := d.DenseSet
		set.InFeatures = x.Shape[1]
		set.Device, set.DType = adopt("dense", x, set.Device, set.DType)
		d.build(set)
	}
	fits("dense", x, d.Weight)
	return tensor.Linear(x, d.Weight.Tensor, d.Bias.tensorOf(), act)
}

func (d *Dense) build(set DenseSet) {
	at := placeOf("dense", set.Device, set.DType)
	d.Weight, d.Bias = affine(at, d.from, set.Initializer, set.NoBias, set.OutFeatures, set.InFeatures)
	set.Device, set.DType = at.device, at.dtype
	d.DenseSet = set
}

func (d *Dense) plant(from origin)        { d.from = from }
func (d *Dense) settle(to storage.Device) { d.Device = to }
func (d *Dense) settled() storage.Device  { return d.Device }

// Config returns d's settings; in_features among them once d is built.
func (d *Dense) Config() any { return d.DenseSet }

var _ = RegisterLayer("dense", NewDenseOf, DenseSet{})

// soundYet fails if a layer still to be built could never be.
func soundYet(layer string, out int, init string, t dtype.Type) {
	if out < 1 {
		tensor.Fail(layer, views.ErrShape, "%d outputs; want at least one", out)
	}
	initializer(layer, init, 1, 1)
	placeOf(layer, nil, t)
}

// adopt returns where and as what a layer is built that sees x first. What it
// was told, x must already be.
func adopt(layer string, x *tensor.Tensor, d storage.Device, t dtype.Type) (storage.Device, dtype.Type) {
	if d != nil {
		onDevice(layer, x, d)
	}
	if t == dtype.Invalid {
		t = x.Type
	}
	return x.Data.Device(), t
}
