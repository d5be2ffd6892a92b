package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ReshapeOptions are the settings of a Reshape.
type ReshapeOptions struct {
	Shape Sizes `json:"shape"` // of a sample; one size may be −1, for what remains; required
}

// Reshape gives each sample another shape.
type Reshape struct{ ReshapeOptions }

// NewReshape returns a Reshape. Shape is required.
func NewReshape(o ReshapeOptions) Reshape {
	open := 0
	for _, n := range o.Shape {
		if n == -1 {
			open++
		}
		if n < -1 || n == 0 {
			tensor.Fail("reshape", views.ErrShape, "shape %v; want positive sizes, or −1 for what remains", o.Shape)
		}
	}
	if len(o.Shape) == 0 || open > 1 {
		tensor.Fail("reshape", views.ErrShape, "shape %v; want the shape of a sample, with one size of −1 at most", o.Shape)
	}
	return Reshape{o}
}

// Forward returns x (N, …) as (N, Shape…).
func (r Reshape) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Contiguous().Reshape(append([]int{x.Shape()[0]}, r.Shape...)...)
}

var _ = RegisterLayer("reshape", NewReshape, ReshapeOptions{})
