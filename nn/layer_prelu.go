package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PReLUOptions are the settings of a PReLU.
type PReLUOptions struct {
	NumParameters int            `json:"num_parameters"`  // the channels, or 1 for all; 1 if 0
	Shape         Sizes          `json:"shape,omitempty"` // of the slopes: the axes of a sample, or 1 where they are shared; num_parameters of the channels if nil
	Init          float64        `json:"init"`            // of the slopes; 0.25 if 0
	DType         dtype.Type     `json:"dtype,omitzero"`  // float32 if absent
	Device        storage.Device `json:"-" nn:"-"`        // the CPU if nil
}

// PReLU is x where x (N, C, …) is positive and w·x elsewhere, with a trained slope for all, for each channel (He et
// al., arXiv:1502.01852) or, with Shape, for each element.
type PReLU struct {
	PReLUOptions
	Weight *Parameter
}

var preluDefaults = PReLUOptions{NumParameters: 1, Init: 0.25}

// NewPReLU returns a PReLU.
func NewPReLU(o PReLUOptions) *PReLU { return newPReLU(withDefaults(o, preluDefaults)) }

func newPReLU(o PReLUOptions) *PReLU {
	if o.NumParameters < 1 {
		tensor.Fail("prelu", views.ErrShape, "num_parameters %d; want at least 1", o.NumParameters)
	}
	if len(o.Shape) > 0 && slices.Min(o.Shape) < 1 {
		tensor.Fail("prelu", views.ErrShape, "shape %v; want sizes of at least 1", o.Shape)
	}
	alloc := NewAllocator("prelu", o.Device, o.DType)
	o.Device, o.DType = alloc.Device, alloc.DType
	shape := []int{o.NumParameters}
	if len(o.Shape) > 0 {
		shape = o.Shape
	}
	return &PReLU{o, alloc.Param(ConstantFill(o.Init), shape...)}
}

// Forward applies the activation to x.
func (p *PReLU) Forward(x *tensor.Tensor) *tensor.Tensor {
	if p.Weight == nil {
		tensor.Fail("prelu", storage.ErrState, "not built; make it by NewPReLU")
	}
	checkDevice("prelu", x, p.Weight.Device())
	if len(p.Shape) == 0 {
		return x.PReLU(p.Weight.Tensor)
	}
	if x.Rank() != len(p.Shape)+1 {
		tensor.Fail("prelu", views.ErrShape, "slopes %v for samples of %v", p.Shape, x.Shape()[min(1, x.Rank()):])
	}
	return tensor.Where(x.GtScalar(0), x, x.Mul(p.Weight.Tensor))
}

var _ = RegisterLayer("prelu", newPReLU, preluDefaults)
