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
	NormalizedShape Sizes          `json:"normalized_shape"` // the last axes, over which it normalizes; required
	Eps             float64        `json:"eps"`              // 1e-5 if 0
	NoAffine        Negated        `json:"affine"`           // multiply by gamma and add beta
	DType           dtype.Type     `json:"dtype,omitzero"`   // float32 if absent
	Device          storage.Device `json:"-" nn:"-"`         // the CPU if nil
}

// LayerNorm is γ·(x − mean)/√(variance + ε) + β with the statistics of each sample
// over its last axes, of NormalizedShape (Ba et al., arXiv:1607.06450).
type LayerNorm struct {
	LayerNormOptions
	Gamma, Beta *Parameter // of NormalizedShape; nil without affine
}

var layerNormDefaults = LayerNormOptions{Eps: 1e-5}

// NewLayerNorm returns a LayerNorm. NormalizedShape is required.
func NewLayerNorm(o LayerNormOptions) *LayerNorm {
	return newLayerNorm(withDefaults(o, layerNormDefaults))
}

func newLayerNorm(o LayerNormOptions) *LayerNorm {
	checkRange("layernorm", "eps", o.Eps, 0, infinity)
	if len(o.NormalizedShape) == 0 {
		tensor.Fail("layernorm", views.ErrShape, "no normalized_shape; want the last axes of the input")
	}
	alloc := NewAllocator("layernorm", o.Device, o.DType)
	o.Device, o.DType = alloc.Device, alloc.DType
	l := &LayerNorm{LayerNormOptions: o}
	if !o.NoAffine {
		l.Gamma, l.Beta = alloc.Param(ConstantFill(1), o.NormalizedShape...), alloc.Param(ConstantFill(0), o.NormalizedShape...)
	}
	return l
}

// Forward normalizes x (…, NormalizedShape).
func (l *LayerNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	if len(l.NormalizedShape) == 0 {
		tensor.Fail("layernorm", storage.ErrState, "no normalized_shape; make it by NewLayerNorm")
	}
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
