package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// LayerNormOptions are the settings of a LayerNorm.
type LayerNormOptions struct {
	NormalizedShape Sizes          `json:"normalized_shape,omitempty"` // the last axes, over which it normalizes; the last of the first input if nil
	Eps             float64        `json:"eps"`                        // 1e-5 if 0
	NoAffine        Negated        `json:"affine"`                     // multiply by gamma and add beta
	DType           dtype.Type     `json:"dtype,omitzero"`             // the first input's if absent; float32 if normalized_shape is given
	Device          storage.Device `json:"-" nn:"-"`                   // the first input's if nil; the CPU if normalized_shape is given
}

// LayerNorm is γ·(x − mean)/√(variance + ε) + β with the statistics of each sample
// over its last axes, of NormalizedShape (Ba et al., arXiv:1607.06450).
type LayerNorm struct {
	LayerNormOptions
	deferred
	Gamma, Beta *Parameter // of NormalizedShape; nil without affine
}

var layerNormDefaults = LayerNormOptions{Eps: 1e-5}

// NewLayerNorm returns a LayerNorm, built if NormalizedShape is given.
func NewLayerNorm(o LayerNormOptions) *LayerNorm {
	return newLayerNorm(withDefaults(o, layerNormDefaults))
}

func newLayerNorm(o LayerNormOptions) *LayerNorm {
	checkRange("layernorm", "eps", o.Eps, 0, infinity)
	l := &LayerNorm{LayerNormOptions: o}
	l.prepare("layernorm", len(o.NormalizedShape) > 0, deferral{
		l, &l.Device, &l.DType, func(x *tensor.Tensor) { l.NormalizedShape = Sizes{features(x)} }, l.make,
	})
	return l
}

func (l *LayerNorm) make(alloc Allocator) {
	if !l.NoAffine {
		l.Gamma, l.Beta = alloc.Param(ConstantFill(1), l.NormalizedShape...), alloc.Param(ConstantFill(0), l.NormalizedShape...)
	}
}

// Forward normalizes x (…, NormalizedShape).
func (l *LayerNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	l.buildFor("layernorm", x)
	if l.Gamma != nil {
		checkDevice("layernorm", x, l.Gamma.Device())
	}
	first := x.Rank() - len(l.NormalizedShape)
	if first < 0 || !slices.Equal(x.Shape()[first:], l.NormalizedShape) {
		tensor.Fail("layernorm", views.ErrShape, "input %v; want the last axes %v", x.Shape(), l.NormalizedShape)
	}
	var gamma, beta *tensor.Tensor
	if l.Gamma != nil {
		gamma, beta = l.Gamma.Tensor, l.Beta.Tensor
	}
	return tensor.LayerNorm(x, l.NormalizedShape, gamma, beta, nonZero(l.Eps))
}

var _ = RegisterLayer("layernorm", newLayerNorm, layerNormDefaults)
