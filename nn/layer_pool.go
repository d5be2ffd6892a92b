package nn

import (
	"strings"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PoolOptions are the settings of MaxPool1d, 2d and 3d and of AvgPool1d, 2d and 3d.
type PoolOptions struct {
	KernelSize     Sizes   `json:"kernel_size"`                 // required
	Stride         Sizes   `json:"stride"`                      // KernelSize if nil
	Padding        Sizes   `json:"padding"`                     // at the beginning of each axis
	PaddingAfter   Sizes   `json:"padding_after,omitempty"`     // at the end of each axis; Padding if nil
	Dilation       Sizes   `json:"dilation,omitempty"`          // distance between the elements of a window, of maxima; 1 if nil
	CeilMode       bool    `json:"ceil_mode,omitempty"`         // keep a last window that is not complete
	ExcludePadding Negated `json:"count_include_pad,omitempty"` // whether means count the padding, as zeros
}

// Pooling over each window of each channel. Padding is −∞ for maxima and counts as
// zeros for means, unless count_include_pad is false.
type (
	MaxPool1d struct{ PoolOptions } // the maxima of x (N, C, L)
	MaxPool2d struct{ PoolOptions } // the maxima of images x (N, C, H, W)
	MaxPool3d struct{ PoolOptions } // the maxima of volumes x (N, C, D, H, W)
	AvgPool1d struct{ PoolOptions } // the means of x (N, C, L)
	AvgPool2d struct{ PoolOptions } // the means of images x (N, C, H, W)
	AvgPool3d struct{ PoolOptions } // the means of volumes x (N, C, D, H, W)
)

// NewMaxPool1d returns a MaxPool1d. KernelSize is required.
func NewMaxPool1d(o PoolOptions) MaxPool1d { return MaxPool1d{o.validate("maxpool1d", 1)} }

// NewMaxPool2d returns a MaxPool2d. KernelSize is required.
func NewMaxPool2d(o PoolOptions) MaxPool2d { return MaxPool2d{o.validate("maxpool2d", 2)} }

// NewMaxPool3d returns a MaxPool3d. KernelSize is required.
func NewMaxPool3d(o PoolOptions) MaxPool3d { return MaxPool3d{o.validate("maxpool3d", 3)} }

// NewAvgPool1d returns an AvgPool1d. KernelSize is required.
func NewAvgPool1d(o PoolOptions) AvgPool1d { return AvgPool1d{o.validate("avgpool1d", 1)} }

// NewAvgPool2d returns an AvgPool2d. KernelSize is required.
func NewAvgPool2d(o PoolOptions) AvgPool2d { return AvgPool2d{o.validate("avgpool2d", 2)} }

// NewAvgPool3d returns an AvgPool3d. KernelSize is required.
func NewAvgPool3d(o PoolOptions) AvgPool3d { return AvgPool3d{o.validate("avgpool3d", 3)} }

// Forward pools x.
func (p MaxPool1d) Forward(x *tensor.Tensor) *tensor.Tensor { return p.max("maxpool1d", 1, x) }

// Forward pools images x.
func (p MaxPool2d) Forward(x *tensor.Tensor) *tensor.Tensor { return p.max("maxpool2d", 2, x) }

// Forward pools volumes x.
func (p MaxPool3d) Forward(x *tensor.Tensor) *tensor.Tensor { return p.max("maxpool3d", 3, x) }

// Forward pools x.
func (p AvgPool1d) Forward(x *tensor.Tensor) *tensor.Tensor { return p.avg("avgpool1d", 1, x) }

// Forward pools images x.
func (p AvgPool2d) Forward(x *tensor.Tensor) *tensor.Tensor { return p.avg("avgpool2d", 2, x) }

// Forward pools volumes x.
func (p AvgPool3d) Forward(x *tensor.Tensor) *tensor.Tensor { return p.avg("avgpool3d", 3, x) }

func (o PoolOptions) max(layer string, rank int, x *tensor.Tensor) *tensor.Tensor {
	checkSpatial(layer, x, rank)
	return x.MaxPool(o.tensorOptions(layer, rank))
}

func (o PoolOptions) avg(layer string, rank int, x *tensor.Tensor) *tensor.Tensor {
	checkSpatial(layer, x, rank)
	return x.AvgPool(o.tensorOptions(layer, rank))
}

// validate returns o with a number for each axis.
func (o PoolOptions) validate(layer string, rank int) PoolOptions {
	o.KernelSize = o.KernelSize.expand(layer, "kernel size", rank, 0)
	if o.Stride == nil {
		o.Stride = o.KernelSize
	}
	o.Stride = o.Stride.expand(layer, "stride", rank, 0)
	o.Padding = o.Padding.expand(layer, "padding", rank, 0)
	o.PaddingAfter, o.Dilation = o.PaddingAfter.expandGiven(layer, "padding after", rank), o.Dilation.expandGiven(layer, "dilation", rank)
	checkWindow(layer, o.KernelSize, o.Stride, o.Padding)
	for i := range rank {
		for _, padding := range []Sizes{o.Padding, o.after()} {
			if 2*padding[i] > o.KernelSize[i] || padding[i] < 0 {
				tensor.Fail(layer, views.ErrShape, "padding %v; want at most half of kernel size %v", padding, o.KernelSize)
			}
		}
		if o.Dilation != nil && (o.Dilation[i] < 1 || o.Dilation[i] > 1 && strings.HasPrefix(layer, "avg")) {
			tensor.Fail(layer, views.ErrShape, "dilation %v; want at least 1, and 1 for means", o.Dilation)
		}
	}
	return o
}

// after returns the padding at the end of each axis.
func (o PoolOptions) after() Sizes {
	if o.PaddingAfter == nil {
		return o.Padding
	}
	return o.PaddingAfter
}

func (o PoolOptions) tensorOptions(layer string, rank int) tensor.PoolOptions {
	if len(o.KernelSize) != rank || len(o.Stride) != rank || len(o.Padding) != rank { // of a literal
		o = o.validate(layer, rank)
	}
	t := tensor.PoolOptions{Ceil: o.CeilMode, ExcludePadding: bool(o.ExcludePadding)}
	for i, before := range o.Padding {
		t.Padding[i] = [2]int{before, o.after()[i]}
	}
	copy(t.Kernel[:], o.KernelSize)
	copy(t.Stride[:], o.Stride)
	copy(t.Dilation[:], o.Dilation)
	return t
}

// checkWindow fails unless a window of that kind can move over an input.
func checkWindow(layer string, kernel, stride, padding Sizes) {
	for i := range kernel {
		if kernel[i] < 1 || stride[i] < 1 || padding[i] < 0 {
			tensor.Fail(layer, views.ErrShape, "kernel size %v, stride %v, padding %v; want at least 1, 1 and 0", kernel, stride, padding)
		}
	}
}

var (
	_ = RegisterLayer("maxpool1d", NewMaxPool1d, PoolOptions{})
	_ = RegisterLayer("maxpool2d", NewMaxPool2d, PoolOptions{})
	_ = RegisterLayer("maxpool3d", NewMaxPool3d, PoolOptions{})
	_ = RegisterLayer("avgpool1d", NewAvgPool1d, PoolOptions{})
	_ = RegisterLayer("avgpool2d", NewAvgPool2d, PoolOptions{})
	_ = RegisterLayer("avgpool3d", NewAvgPool3d, PoolOptions{})
)
