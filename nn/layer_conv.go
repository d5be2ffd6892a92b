package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// ConvOptions are the settings of Conv1d, Conv2d and Conv3d.
type ConvOptions struct {
	OutChannels  int                `json:"out_channels"`            // required
	InChannels   int                `json:"in_channels,omitempty"`   // taken from the first input if 0
	KernelSize   Sizes              `json:"kernel_size"`             // required
	Stride       Sizes              `json:"stride"`                  // 1 if nil
	Padding      Sizes              `json:"padding"`                 // zeros at the beginning of each axis; same keeps the size, valid is 0
	PaddingAfter Sizes              `json:"padding_after,omitempty"` // zeros at the end of each axis; Padding if nil
	Dilation     Sizes              `json:"dilation,omitempty"`      // distance between the elements of a window; 1 if nil
	Groups       int                `json:"groups,omitempty"`        // channels are connected within groups only; 1 if 0
	NoBias       Negated            `json:"bias"`
	Initializer  InitializerSetting `json:"initializer"`    // kaiming if empty
	DType        dtype.Type         `json:"dtype,omitzero"` // the first input's if absent
	Device       storage.Device     `json:"-" nn:"-"`       // the first input's if nil
}

// Conv1d is the cross-correlation of x (N, in, L) with Weight (out, in/groups,
// kernel), plus Bias: (N, out, L').
type Conv1d struct{ Convolution }

// Conv2d is the cross-correlation of images x (N, in, H, W) with Weight (out,
// in/groups, kernel height, kernel width), plus Bias: (N, out, H', W').
type Conv2d struct{ Convolution }

// Conv3d is Conv2d of volumes x (N, in, D, H, W).
type Conv3d struct{ Convolution }

// NewConv1d returns a Conv1d, built if InChannels is given. OutChannels and
// KernelSize are required.
func NewConv1d(o ConvOptions) *Conv1d { return &Conv1d{newConv("conv1d", 1, o)} }

// NewConv2d returns a Conv2d, as NewConv1d does.
func NewConv2d(o ConvOptions) *Conv2d { return &Conv2d{newConv("conv2d", 2, o)} }

// NewConv3d returns a Conv3d, as NewConv1d does.
func NewConv3d(o ConvOptions) *Conv3d { return &Conv3d{newConv("conv3d", 3, o)} }

// Convolution is what Conv1d, Conv2d and Conv3d have in common: a convolution over as many axes as its KernelSize has numbers.
type Convolution struct {
	ConvOptions
	Weights
	layer string
}

func newConv(layer string, rank int, o ConvOptions) Convolution {
	expandConv(layer, rank, &o.KernelSize, &o.Stride, &o.Padding, &o.PaddingAfter, &o.Dilation)
	checkConv(layer, o.PaddingAfter, o.Dilation, o.Groups, o.InChannels, o.OutChannels)
	c := Convolution{ConvOptions: o, layer: layer}
	c.Prepare(c.spec())
	return c
}

// expandConv gives the settings of a convolution a number for each of its axes, and fails
// if they cannot be.
func expandConv(layer string, rank int, kernel, stride, padding, after, dilation *Sizes) {
	*kernel = kernel.expand(layer, "kernel size", rank, 0)
	*stride = stride.expand(layer, "stride", rank, 1)
	if len(*padding) == 1 && (*padding)[0] == same {
		*padding, *after = samePadding(layer, *kernel, *stride, dilation.expand(layer, "dilation", rank, 1), *after)
	}
	*padding = padding.expand(layer, "padding", rank, 0)
	*after = after.expandGiven(layer, "padding after", rank)
	*dilation = dilation.expandGiven(layer, "dilation", rank)
	checkWindow(layer, *kernel, *stride, *padding)
}

// samePadding returns the padding before and after each axis that keeps sizes.
func samePadding(layer string, kernel, stride, dilation, given Sizes) (before, after Sizes) {
	for i, k := range kernel {
		if stride[i] != 1 || given != nil {
			tensor.Fail(layer, views.ErrShape, "padding same with stride %v and padding after %v; want stride 1 and none", []int(stride), []int(given))
		}
		all := dilation[i] * (k - 1)
		before, after = append(before, all/2), append(after, all-all/2)
	}
	if slices.Equal(before, after) {
		after = nil
	}
	return before, after
}

// checkConv fails unless the optional settings of a convolution are possible.
func checkConv(layer string, after, dilation Sizes, groups, in, out int) {
	for _, n := range after {
		if n < 0 {
			tensor.Fail(layer, views.ErrShape, "padding after %v; want at least 0", after)
		}
	}
	for _, n := range dilation {
		if n < 1 {
			tensor.Fail(layer, views.ErrShape, "dilation %v; want at least 1", dilation)
		}
	}
	if groups < 0 || groups > 0 && (in%groups != 0 || out%groups != 0) {
		tensor.Fail(layer, views.ErrShape, "%d groups of %d input and %d output channels; want a divisor of both", groups, in, out)
	}
}

func (c *Convolution) spec() WeightSpec {
	return WeightSpec{
		Layer: c.layer, Inputs: &c.InChannels, Outputs: c.OutChannels, Groups: c.Groups, Window: c.KernelSize,
		NoBias: c.NoBias, Initializer: &c.Initializer, DType: &c.DType, Device: &c.Device,
	}
}

// Forward returns the convolution of x.
func (c *Convolution) Forward(x *tensor.Tensor) *tensor.Tensor {
	return c.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (c *Convolution) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	c.buildForSpatial(c.spec(), x)
	return c.forwardWith(x, c.Weight.Tensor, c.Bias.tensorOf(), act)
}

func (c *Convolution) forwardWith(x, weight, bias *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	checkSpatial(c.layer, x, len(c.KernelSize))
	checkInput(c.layer, x, weight, 1, c.InChannels)
	o := convOptions(c.Stride, c.Padding, c.PaddingAfter, c.Dilation, c.Groups)
	o.Act = act
	return tensor.Conv(x, weight, bias, o)
}

// convOptions returns the settings of a convolution as package tensor has them.
func convOptions(stride, padding, after, dilation Sizes, groups int) tensor.ConvOptions {
	o := tensor.ConvOptions{Groups: groups}
	copy(o.Stride[:], stride)
	copy(o.Dilation[:], dilation)
	for i, before := range padding {
		o.Padding[i] = [2]int{before, before}
		if after != nil {
			o.Padding[i][1] = after[i]
		}
	}
	return o
}

var (
	_ = RegisterLayer("conv1d", NewConv1d, ConvOptions{})
	_ = RegisterLayer("conv2d", NewConv2d, ConvOptions{})
	_ = RegisterLayer("conv3d", NewConv3d, ConvOptions{})
)
