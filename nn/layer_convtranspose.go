package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ConvTransposeOptions are the settings of ConvTranspose1d, 2d and 3d.
type ConvTransposeOptions struct {
	OutChannels   int                `json:"out_channels"`            // required
	InChannels    int                `json:"in_channels,omitempty"`   // taken from the first input if 0
	KernelSize    Sizes              `json:"kernel_size"`             // required
	Stride        Sizes              `json:"stride"`                  // 1 if nil
	Padding       Sizes              `json:"padding"`                 // left out at the beginning of each axis
	PaddingAfter  Sizes              `json:"padding_after,omitempty"` // left out at the end of each axis; Padding if nil
	OutputPadding Sizes              `json:"output_padding"`          // added at the end of each axis, less than the stride
	Dilation      Sizes              `json:"dilation,omitempty"`      // distance between the elements of a window; 1 if nil
	Groups        int                `json:"groups,omitempty"`        // channels are connected within groups only; 1 if 0
	NoBias        Negated            `json:"bias"`
	Initializer   InitializerSetting `json:"initializer"`    // kaiming if empty
	DType         dtype.Type         `json:"dtype,omitzero"` // the first input's if absent
	Device        storage.Device     `json:"-" nn:"-"`       // the first input's if nil
}

// ConvTranspose1d is the transposed convolution of x (N, in, L) with Weight (in,
// out/groups, kernel), plus Bias. The size of the result is
// (L − 1)·stride − padding + dilation·(kernel − 1) + output padding + 1.
type ConvTranspose1d struct{ TransposedConvolution }

// ConvTranspose2d is ConvTranspose1d of images x (N, in, H, W).
type ConvTranspose2d struct{ TransposedConvolution }

// ConvTranspose3d is ConvTranspose1d of volumes x (N, in, D, H, W).
type ConvTranspose3d struct{ TransposedConvolution }

// NewConvTranspose1d returns a ConvTranspose1d, built if InChannels is given.
// OutChannels and KernelSize are required.
func NewConvTranspose1d(o ConvTransposeOptions) *ConvTranspose1d {
	return &ConvTranspose1d{newConvTranspose("conv_transpose1d", 1, o)}
}

// NewConvTranspose2d returns a ConvTranspose2d, as NewConvTranspose1d does.
func NewConvTranspose2d(o ConvTransposeOptions) *ConvTranspose2d {
	return &ConvTranspose2d{newConvTranspose("conv_transpose2d", 2, o)}
}

// NewConvTranspose3d returns a ConvTranspose3d, as NewConvTranspose1d does.
func NewConvTranspose3d(o ConvTransposeOptions) *ConvTranspose3d {
	return &ConvTranspose3d{newConvTranspose("conv_transpose3d", 3, o)}
}

// TransposedConvolution is what ConvTranspose1d, ConvTranspose2d and ConvTranspose3d have in common.
type TransposedConvolution struct {
	ConvTransposeOptions
	Weights
	layer string
}

func newConvTranspose(layer string, rank int, o ConvTransposeOptions) TransposedConvolution {
	expandConv(layer, rank, &o.KernelSize, &o.Stride, &o.Padding, &o.PaddingAfter, &o.Dilation)
	o.OutputPadding = o.OutputPadding.expand(layer, "output padding", rank, 0)
	checkConv(layer, o.PaddingAfter, o.Dilation, o.Groups, o.InChannels, o.OutChannels)
	for i, n := range o.OutputPadding {
		if n < 0 || n >= o.Stride[i] {
			tensor.Fail(layer, views.ErrShape, "output padding %v and stride %v; want less than the stride", o.OutputPadding, o.Stride)
		}
	}
	c := TransposedConvolution{ConvTransposeOptions: o, layer: layer}
	c.Prepare(c.spec())
	return c
}

func (c *TransposedConvolution) spec() WeightSpec {
	return WeightSpec{
		Layer: c.layer, Inputs: &c.InChannels, Outputs: c.OutChannels, Groups: c.Groups, Window: c.KernelSize, Transposed: true,
		NoBias: c.NoBias, Initializer: &c.Initializer, DType: &c.DType, Device: &c.Device,
	}
}

// Forward returns the transposed convolution of x.
func (c *TransposedConvolution) Forward(x *tensor.Tensor) *tensor.Tensor {
	return c.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (c *TransposedConvolution) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	c.buildForSpatial(c.spec(), x)
	return c.forwardWith(x, c.Weight.Tensor, c.Bias.tensorOf(), act)
}

func (c *TransposedConvolution) forwardWith(x, weight, bias *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkSpatial(c.layer, x, len(c.KernelSize))
	checkInput(c.layer, x, weight, 1, c.InChannels)
	o := tensor.ConvTransposeOptions{ConvOptions: convOptions(c.Stride, c.Padding, c.PaddingAfter, c.Dilation, c.Groups)}
	copy(o.OutputPadding[:], c.OutputPadding)
	o.Act = act
	return tensor.ConvTranspose(x, weight, bias, o)
}

var (
	_ = RegisterLayer("conv_transpose1d", NewConvTranspose1d, ConvTransposeOptions{})
	_ = RegisterLayer("conv_transpose2d", NewConvTranspose2d, ConvTransposeOptions{})
	_ = RegisterLayer("conv_transpose3d", NewConvTranspose3d, ConvTransposeOptions{})
	_ = layers.aliases("conv_transpose1d", "conv1d_transpose")
	_ = layers.aliases("conv_transpose2d", "conv2d_transpose")
	_ = layers.aliases("conv_transpose3d", "conv3d_transpose")
)
