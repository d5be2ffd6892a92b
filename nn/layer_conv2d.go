package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Conv2dSet is the settings of a Conv2d.
type Conv2dSet struct {
	OutChannels int            `json:"out_channels"`
	InChannels  int            `json:"in_channels,omitempty"` // 0: the first input's
	KernelSize  Pair           `json:"kernel_size"`
	Stride      Pair           `json:"stride"`
	Padding     Pair           `json:"padding"`
	NoBias      Not            `json:"bias"`
	Initializer string         `json:"initializer"`     // kaiming if empty
	DType       dtype.Type     `json:"dtype,omitempty"` // float32 if not given
	Device      storage.Device `json:"-" nn:"-"`        // the CPU if nil
}

// Conv2d slides its weight over images x (N, in, H, W), zeros around them, and
// gives (N, out, H', W').
type Conv2d struct {
	Conv2dSet
	Weight *Param // out × in × down × across
	Bias   *Param // out; nil without

	from origin
}

// NewConv2d returns a layer of square windows.
func NewConv2d(in, out, kernel int) *Conv2d {
	return NewConv2dOf(Conv2dSet{InChannels: in, OutChannels: out, KernelSize: Both(kernel), Stride: Both(1)})
}

// NewConv2dOf returns a layer as set says. Without input channels it is built
// when it sees its first input, as a Dense is.
func NewConv2dOf(set Conv2dSet) *Conv2d {
	set.Initializer = orKaiming(set.Initializer)
	wantWindow("conv2d", set.KernelSize, set.Stride, set.Padding)
	c := &Conv2d{Conv2dSet: set}
	if set.InChannels != 0 {
		c.build(set)
		return c
	}
	soundYet("conv2d", set.OutChannels, set.Initializer, set.DType)
	return c
}

// IsBuilt reports whether c has parameters.
func (c *Conv2d) IsBuilt() bool { return c.Weight != nil }

// Forward returns the convolution of images x.
func (c *Conv2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return c.activated(x, tensor.NoActivation)
}

func (c *Conv2d) activated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	wantImages("conv2d", x)
	if !c.IsBuilt() {
		set := c.Conv2dSet
		set.InChannels = x.Shape[1]
		set.Device, set.DType = adopt("conv2d", x, set.Device, set.DType)
		c.build(set)
	}
	fits("conv2d", x, c.Weight)
	set := tensor.Conv2dOptions{Stride: c.Stride, Padding: c.Padding, Act: act}
	return tensor.Conv2d(x, c.Weight.Tensor, c.Bias.tensorOf(), set)
}

func (c *Conv2d) build(set Conv2dSet) {
	at := placeOf("conv2d", set.Device, set.DType)
	c.Weight, c.Bias = affine(at, c.from, set.Initializer, set.NoBias, set.OutChannels, set.InChannels, set.KernelSize[0], set.KernelSize[1])
	set.Device, set.DType = at.device, at.dtype
	c.Conv2dSet = set
}

func (c *Conv2d) plant(from origin)        { c.from = from }
func (c *Conv2d) settle(to storage.Device) { c.Device = to }
func (c *Conv2d) settled() storage.Device  { return c.Device }

// Config returns c's settings; in_channels among them once c is built.
func (c *Conv2d) Config() any { return c.Conv2dSet }

var _ = RegisterLayer("conv2d", NewConv2dOf, Conv2dSet{Stride: Both(1)})

// wantImages fails unless x is samples of channels of rows of pixels.
func wantImages(layer string, x *tensor.Tensor) {
	if x.Rank() != 4 {
		tensor.Fail(layer, views.ErrShape, "input %v; want images (samples, channels, height, width)", x.Shape)
	}
}

// wantWindow fails unless a window of that kind can move over an image.
func wantWindow(layer string, kernel, stride, padding Pair) {
	for i := range 2 {
		if kernel[i] < 1 || stride[i] < 1 || padding[i] < 0 {
			tensor.Fail(layer, views.ErrShape, "kernel size %v, stride %v, padding %v; want at least 1, 1 and 0", kernel, stride, padding)
		}
	}
}
