package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// UpsampleOptions are the settings of an Upsample.
type UpsampleOptions struct {
	Scale        Sizes  `json:"scale,omitempty"`         // of each spatial axis; required without Size
	Size         Sizes  `json:"size,omitempty"`          // of the result
	Mode         string `json:"mode,omitempty"`          // nearest, or linear between the elements (bilinear, trilinear); nearest if empty
	AlignCorners bool   `json:"align_corners,omitempty"` // in mode linear, the first and last elements of input and result are at the same places
}

// Upsample changes the sizes of the spatial axes of x (N, C, …). See [tensor.Tensor.ResizeNearest] and
// [tensor.Tensor.ResizeLinear].
type Upsample struct{ UpsampleOptions }

// NewUpsample returns an Upsample. Scale or Size is required.
func NewUpsample(o UpsampleOptions) Upsample {
	n := max(len(o.Scale), len(o.Size))
	if n == 0 || n > 3 || len(o.Scale) > 0 && len(o.Size) > 0 {
		tensor.Fail("upsample", views.ErrShape, "scale %v, size %v; want a number for each spatial axis in one of them", o.Scale, o.Size)
	}
	for _, n := range append(append(Sizes{}, o.Scale...), o.Size...) {
		if n < 1 {
			tensor.Fail("upsample", views.ErrShape, "scale %v, size %v; want at least 1", o.Scale, o.Size)
		}
	}
	switch o.Mode {
	case "", "nearest":
		if o.AlignCorners {
			tensor.Fail("upsample", ErrConfig, "align_corners in mode nearest; want mode linear")
		}
	case "linear", "bilinear", "trilinear":
	default:
		tensor.Fail("upsample", ErrConfig, "mode %q; want nearest, linear, bilinear or trilinear", o.Mode)
	}
	return Upsample{o}
}

// Forward returns x with other sizes.
func (u Upsample) Forward(x *tensor.Tensor) *tensor.Tensor {
	u = NewUpsample(u.UpsampleOptions)
	sizes := u.Size
	if sizes != nil {
		checkSizes("upsample", "size", x, sizes)
	} else {
		checkSizes("upsample", "scale", x, u.Scale)
		for i, scale := range u.Scale {
			sizes = append(sizes, scale*x.Shape()[i+2])
		}
	}
	if u.Mode == "" || u.Mode == "nearest" {
		return x.ResizeNearest(sizes...)
	}
	return x.ResizeLinear(u.AlignCorners, sizes...)
}

func (u Upsample) axes() int { return max(len(u.Scale), len(u.Size)) }

// InputSpec returns the number of spatial axes.
func (u Upsample) InputSpec() InputSpec { return InputSpec{Spatial: u.axes()} }

var _ = RegisterLayer("upsample", NewUpsample, UpsampleOptions{})
