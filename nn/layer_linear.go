package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A LinearSet is the settings of a Linear.
type LinearSet struct {
	InFeatures  int            `json:"in_features"`
	OutFeatures int            `json:"out_features"`
	NoBias      Not            `json:"bias"`
	Initializer string         `json:"initializer"`     // kaiming if empty
	DType       dtype.Type     `json:"dtype,omitempty"` // float32 if not given
	Device      storage.Device `json:"-" nn:"-"`        // the CPU if nil
}

// Linear is x·Weightᵀ + Bias, for x (N, in).
type Linear struct {
	LinearSet
	Weight *Param // out × in
	Bias   *Param // out; nil without
}

// NewLinear returns a layer from in to out features.
func NewLinear(in, out int) *Linear {
	return NewLinearOf(LinearSet{InFeatures: in, OutFeatures: out})
}

// NewLinearOf returns a layer as set says.
func NewLinearOf(set LinearSet) *Linear {
	set.Initializer = orKaiming(set.Initializer)
	l := &Linear{LinearSet: set}
	l.Weight, l.Bias = affine(placeOf("linear", set.Device, set.DType), origin{}, set.Initializer, set.NoBias, set.OutFeatures, set.InFeatures)
	return l
}

// IsBuilt reports whether l has parameters, as every layer that NewLinear made.
func (l *Linear) IsBuilt() bool { return l.Weight != nil }

// Forward returns x·Weightᵀ + Bias.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	return l.activated(x, tensor.NoActivation)
}

func (l *Linear) activated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	if !l.IsBuilt() {
		tensor.Fail("linear", storage.ErrState, "not built; make it by NewLinear")
	}
	wantRows("linear", x)
	fits("linear", x, l.Weight)
	return tensor.Linear(x, l.Weight.Tensor, l.Bias.tensorOf(), act)
}

// Config returns l's settings.
func (l *Linear) Config() any { return l.LinearSet }

var _ = RegisterLayer("linear", NewLinearOf, LinearSet{})

// affine makes the weight of a layer, outputs along its first axis and inputs
// along the second, and its bias.
func affine(at place, from origin, init string, noBias Not, shape ...int) (weight, bias *Param) {
	window := 1
	for _, size := range shape[2:] {
		window *= size
	}
	w, b := initializer(at.layer, init, shape[1]*window, shape[0]*window)
	weight = at.param(w, from.key("weight"), shape...)
	if !noBias {
		bias = at.param(b, from.key("bias"), shape[0])
	}
	return weight, bias
}

func orKaiming(name string) string {
	if name == "" {
		return "kaiming"
	}
	return name
}

// wantRows fails unless x is samples of features.
func wantRows(layer string, x *tensor.Tensor) {
	if x.Rank() != 2 {
		tensor.Fail(layer, views.ErrShape, "input %v; want (samples, features)", x.Shape)
	}
}

// fits fails unless x is where weight is, of its type, and as wide as it.
func fits(layer string, x *tensor.Tensor, weight *Param) {
	onDevice(layer, x, weight.Data.Device())
	if x.Type != weight.Type && !x.AutocastEnabled() {
		tensor.Fail(layer, dtype.ErrType, "input of %v, parameters of %v; Cast or Normalize the input", x.Type, weight.Type)
	}
	if x.Shape[1] != weight.Shape[1] {
		tensor.Fail(layer, views.ErrShape, "input %v for weight %v; want %d along axis 1", x.Shape, weight.Shape, weight.Shape[1])
	}
}

// onDevice fails unless x is on d: nothing is moved unasked.
func onDevice(layer string, x *tensor.Tensor, d storage.Device) {
	if have := x.Data.Device(); have != d {
		tensor.Fail(layer, storage.ErrDevice, "input on %v, layer on %v; move one with To", have, d)
	}
}
