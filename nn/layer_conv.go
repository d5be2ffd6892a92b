package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ConvOptions are the settings of a Conv2d.
type ConvOptions struct {
	OutChannels int            `json:"out_channels"`
	InChannels  int            `json:"in_channels,omitempty"` // taken from the first input if 0
	KernelSize  Sizes          `json:"kernel_size"`
	Stride      Sizes          `json:"stride"`  // 1 if nil
	Padding     Sizes          `json:"padding"` // zeros at both ends of each axis
	NoBias      Negated        `json:"bias"`
	Initializer string         `json:"initializer"`     // kaiming if empty
	DType       dtype.Type     `json:"dtype,omitempty"` // float32 if absent
	Device      storage.Device `json:"-" nn:"-"`        // the CPU if nil
}

// Conv2d is the cross-correlation of images x (N, in, H, W) with Weight
// (out, in, kernel height, kernel width), plus Bias: (N, out, H', W').
type Conv2d struct {
	ConvOptions
	Weights
}

// NewConv2d returns a Conv2d, built if InChannels is given. OutChannels and
// KernelSize are required.
func NewConv2d(o ConvOptions) *Conv2d {
	c := &Conv2d{ConvOptions: o}
	c.KernelSize = o.KernelSize.expand("conv2d", "kernel size", 2, 0)
	c.Stride = o.Stride.expand("conv2d", "stride", 2, 1)
	c.Padding = o.Padding.expand("conv2d", "padding", 2, 0)
	checkWindow("conv2d", c.KernelSize, c.Stride, c.Padding)
	c.Prepare(c.spec())
	return c
}

func (c *Conv2d) spec() WeightSpec {
	return WeightSpec{"conv2d", &c.InChannels, c.OutChannels, c.KernelSize, c.NoBias, &c.Initializer, &c.DType, &c.Device}
}

// Forward returns the convolution of images x.
func (c *Conv2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return c.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (c *Conv2d) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkImages("conv2d", x)
	if !c.IsBuilt() {
		c.BuildFor(c.spec(), x)
	}
	checkInput("conv2d", x, c.Weight)
	o := tensor.ConvOptions{Padding: tensor.Pad(c.Padding...), Act: act}
	copy(o.Stride[:], c.Stride)
	return tensor.Conv(x, c.Weight.Tensor, c.Bias.tensorOf(), o)
}

// Config returns the settings of c, in_channels among them once c is built.
func (c *Conv2d) Config() any { return c.ConvOptions }

var _ = RegisterLayer("conv2d", NewConv2d, ConvOptions{})
