package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PReLUOptions are the settings of a PReLU.
type PReLUOptions struct {
	NumParameters int            `json:"num_parameters"` // the channels, or 1 for all; 1 if 0
	Init          float64        `json:"init"`           // of the slopes; 0.25 if 0
	DType         dtype.Type     `json:"dtype,omitzero"` // float32 if absent
	Device        storage.Device `json:"-" nn:"-"`       // the CPU if nil
}

// PReLU is x where x (N, C, …) is positive and w·x elsewhere, with a trained slope for all or for each channel (He et
// al., arXiv:1502.01852).
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
	alloc := NewAllocator("prelu", o.Device, o.DType)
	o.Device, o.DType = alloc.Device, alloc.DType
	return &PReLU{o, alloc.Param(ConstantFill(o.Init), o.NumParameters)}
}

// Forward applies the activation to x.
func (p *PReLU) Forward(x *tensor.Tensor) *tensor.Tensor {
	if p.Weight == nil {
		tensor.Fail("prelu", storage.ErrState, "not built; make it by NewPReLU")
	}
	checkDevice("prelu", x, p.Weight.Device())
	return x.PReLU(p.Weight.Tensor)
}

// Config returns the settings of p.
func (p *PReLU) Config() any { return p.PReLUOptions }

var _ = RegisterLayer("prelu", newPReLU, preluDefaults)
