package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// SqueezeExciteOptions are the settings of a SqueezeExcite, named as torchvision's.
type SqueezeExciteOptions struct {
	Channels int            `json:"input_channels,omitempty"` // taken from the first input if 0
	Squeezed int            `json:"squeeze_channels"`         // channels between the two convolutions; required
	DType    dtype.Type     `json:"dtype,omitzero"`           // the first input's if absent; float32 if input_channels is given
	Device   storage.Device `json:"-" nn:"-"`                 // the first input's if nil; the CPU if input_channels is given
}

// SqueezeExcite is x·sigmoid(FC2(silu(FC1(m)))), where m is the means of the channels of images x
// (N, C, H, W) and FC1 and FC2 are 1×1 convolutions (Hu et al., arXiv:1709.01507).
type SqueezeExcite struct {
	SqueezeExciteOptions
	deferred
	FC1, FC2 *Conv2d
}

// NewSqueezeExcite returns a layer, built if Channels is given. Squeezed is required.
func NewSqueezeExcite(o SqueezeExciteOptions) *SqueezeExcite {
	if o.Channels < 0 || o.Squeezed < 1 {
		tensor.Fail("squeeze_excite", views.ErrShape, "input_channels %d, squeeze_channels %d; want at least 1 of each", o.Channels, o.Squeezed)
	}
	s := &SqueezeExcite{SqueezeExciteOptions: o}
	s.prepare("squeeze_excite", o.Channels > 0, deferral{
		s, &s.Device, &s.DType, func(x *tensor.Tensor) { s.Channels = channels(x) },
		func(alloc Allocator) {
			point := func(in, out int) *Conv2d {
				return NewConv2d(ConvOptions{InChannels: in, OutChannels: out, KernelSize: Sizes{1}, DType: alloc.DType, Device: alloc.Device})
			}
			s.FC1, s.FC2 = point(s.Channels, s.Squeezed), point(s.Squeezed, s.Channels)
		},
	})
	return s
}

// Forward scales the channels of x.
func (s *SqueezeExcite) Forward(x *tensor.Tensor) *tensor.Tensor {
	s.buildFor("squeeze_excite", x)
	checkSpatial("squeeze_excite", x, 2)
	m := s.FC1.ForwardActivated(x.GlobalAvgPool(), tensor.SiLUActivation)
	return x.Mul(s.FC2.ForwardActivated(m, tensor.SigmoidActivation))
}

var _ = RegisterLayer("squeeze_excite", NewSqueezeExcite, SqueezeExciteOptions{})
