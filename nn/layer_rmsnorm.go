package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// RMSNormOptions are the settings of an RMSNorm.
type RMSNormOptions struct {
	NormalizedShape Sizes          `json:"normalized_shape,omitempty"` // the last axes, over which it normalizes; the last of the first input if nil
	Eps             float64        `json:"eps,omitempty"`              // the distance of 1 and the next number of the parameters' type if 0
	NoAffine        Negated        `json:"affine"`                     // multiply by the weight
	DType           dtype.Type     `json:"dtype,omitzero"`             // the first input's if absent; float32 if normalized_shape is given
	Device          storage.Device `json:"-" nn:"-"`                   // the first input's if nil; the CPU if normalized_shape is given
}

// RMSNorm is Weight·x/√(mean(x²) + ε), with the mean over the last axes, of NormalizedShape (Zhang and Sennrich, arXiv:1910.07467).
type RMSNorm struct {
	RMSNormOptions
	deferred
	Weight *Parameter // of NormalizedShape; nil without affine
}

// NewRMSNorm returns an RMSNorm, built if NormalizedShape is given.
func NewRMSNorm(o RMSNormOptions) *RMSNorm {
	checkRange("rmsnorm", "eps", o.Eps, 0, infinity)
	r := &RMSNorm{RMSNormOptions: o}
	r.prepare("rmsnorm", len(o.NormalizedShape) > 0, deferral{
		r, &r.Device, &r.DType, func(x *tensor.Tensor) { r.NormalizedShape = Sizes{features(x)} },
		func(alloc Allocator) {
			if !r.NoAffine {
				r.Weight = alloc.Param(ConstantFill(1), r.NormalizedShape...)
			}
		},
	})
	return r
}

// Forward normalizes x (…, NormalizedShape).
func (r *RMSNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	r.buildFor("rmsnorm", x)
	axes := len(r.NormalizedShape)
	if first := x.Rank() - axes; first < 0 || !slices.Equal(x.Shape()[first:], r.NormalizedShape) {
		tensor.Fail("rmsnorm", views.ErrShape, "input %v; want the last axes %v", x.Shape(), r.NormalizedShape)
	}
	if r.Weight != nil {
		checkDevice("rmsnorm", x, r.Weight.Device())
	}
	eps := r.Eps
	if eps == 0 {
		if eps = 0x1p-23; x.DType() == dtype.Float64 {
			eps = 0x1p-52
		}
	}
	return tensor.RMSNorm(x, axes, r.Weight.tensorOf(), eps)
}

var _ = RegisterLayer("rmsnorm", NewRMSNorm, RMSNormOptions{})
