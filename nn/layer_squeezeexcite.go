package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// SqueezeExciteOptions are the settings of a SqueezeExcite, named as torchvision's.
type SqueezeExciteOptions struct {
	Channels int            `json:"input_channels"`   // required
	Squeezed int            `json:"squeeze_channels"` // channels between the two convolutions; required
	DType    dtype.Type     `json:"dtype,omitzero"`   // float32 if absent
	Device   storage.Device `json:"-" nn:"-"`         // the CPU if nil
}

// SqueezeExcite is x·sigmoid(FC2(silu(FC1(m)))), where m is the means of the channels of images x
// (N, C, H, W) and FC1 and FC2 are 1×1 convolutions (Hu et al., arXiv:1709.01507).
type SqueezeExcite struct {
	SqueezeExciteOptions
	FC1, FC2 *Conv2d
}

// NewSqueezeExcite returns a layer. Channels and Squeezed are required.
func NewSqueezeExcite(o SqueezeExciteOptions) *SqueezeExcite {
	if o.Channels < 1 || o.Squeezed < 1 {
		tensor.Fail("squeeze_excite", views.ErrShape, "input_channels %d, squeeze_channels %d; want at least 1 of each", o.Channels, o.Squeezed)
	}
	point := func(in, out int) *Conv2d {
		return NewConv2d(ConvOptions{InChannels: in, OutChannels: out, KernelSize: Sizes{1}, DType: o.DType, Device: o.Device})
	}
	return &SqueezeExcite{o, point(o.Channels, o.Squeezed), point(o.Squeezed, o.Channels)}
}

// Forward scales the channels of x.
func (s *SqueezeExcite) Forward(x *tensor.Tensor) *tensor.Tensor {
	if s.FC1 == nil {
		tensor.Fail("squeeze_excite", views.ErrShape, "not built; make it by its constructor")
	}
	checkSpatial("squeeze_excite", x, 2)
	m := s.FC1.ForwardActivated(x.GlobalAvgPool(), tensor.SiLUActivation)
	return x.Mul(s.FC2.ForwardActivated(m, tensor.SigmoidActivation))
}

var _ = RegisterLayer("squeeze_excite", NewSqueezeExcite, SqueezeExciteOptions{})
