package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// UpsampleOptions are the settings of an Upsample.
type UpsampleOptions struct {
	Scale Sizes `json:"scale"` // how often each element is repeated along each spatial axis; required
}

// Upsample repeats the elements of x (N, C, …) along its spatial axes.
type Upsample struct{ UpsampleOptions }

// NewUpsample returns an Upsample. Scale is required.
func NewUpsample(o UpsampleOptions) Upsample {
	if len(o.Scale) == 0 || len(o.Scale) > 3 {
		tensor.Fail("upsample", views.ErrShape, "scale %v; want a number for each spatial axis", o.Scale)
	}
	for _, n := range o.Scale {
		if n < 1 {
			tensor.Fail("upsample", views.ErrShape, "scale %v; want at least 1", o.Scale)
		}
	}
	return Upsample{o}
}

// Forward returns x with its elements repeated.
func (u Upsample) Forward(x *tensor.Tensor) *tensor.Tensor {
	u = NewUpsample(u.UpsampleOptions)
	checkSpatial("upsample", x, len(u.Scale))
	split, repeated := append([]int{}, x.Shape()[:2]...), append([]int{}, x.Shape()[:2]...)
	result := append([]int{}, x.Shape()[:2]...)
	for i, n := range u.Scale {
		size := x.Shape()[i+2]
		split, repeated, result = append(split, size, 1), append(repeated, size, n), append(result, size*n)
	}
	return x.Reshape(split...).Expand(repeated...).Contiguous().Reshape(result...)
}

// InputSpec returns the number of spatial axes.
func (u Upsample) InputSpec() InputSpec { return InputSpec{Spatial: len(u.Scale)} }

// Config returns the settings of u.
func (u Upsample) Config() any { return u.UpsampleOptions }

var _ = RegisterLayer("upsample", NewUpsample, UpsampleOptions{})
