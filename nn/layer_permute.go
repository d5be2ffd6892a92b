package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PermuteOptions are the settings of a Permute.
type PermuteOptions struct {
	Axes Sizes `json:"axes"` // of the input, from 1, in the order of the output; required
}

// Permute gives the axes of each sample another order: [3, 1, 2] makes (C, H, W) of
// (H, W, C).
type Permute struct{ PermuteOptions }

// NewPermute returns a Permute. Axes are required.
func NewPermute(o PermuteOptions) Permute {
	sorted := slices.Sorted(slices.Values(o.Axes))
	for i, axis := range sorted {
		if axis != i+1 {
			tensor.Fail("permute", views.ErrShape, "axes %v; want each axis of a sample once, from 1", o.Axes)
		}
	}
	if len(o.Axes) == 0 {
		tensor.Fail("permute", views.ErrShape, "no axes; want each axis of a sample, from 1")
	}
	return Permute{o}
}

// Forward returns x with its axes in another order.
func (p Permute) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != len(p.Axes)+1 {
		tensor.Fail("permute", views.ErrShape, "input %v for axes %v; want samples of %d axes", x.Shape(), p.Axes, len(p.Axes))
	}
	return x.Permute(append([]int{0}, p.Axes...)...)
}

var _ = RegisterLayer("permute", NewPermute, PermuteOptions{})
