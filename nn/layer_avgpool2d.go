package nn

import "github.com/h5dnn/h5dnn/tensor"

// AvgPool2d is the mean of each window of each channel. Padding counts as zeros.
type AvgPool2d struct{ Pool2dSet }

// NewAvgPool2d returns a layer of square windows side by side.
func NewAvgPool2d(kernel int) AvgPool2d {
	return NewAvgPool2dOf(Pool2dSet{KernelSize: Both(kernel)})
}

// NewAvgPool2dOf returns a layer as set says.
func NewAvgPool2dOf(set Pool2dSet) AvgPool2d { return AvgPool2d{set.sound("avgpool2d")} }

// Forward returns the pooled images x.
func (p AvgPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	wantImages("avgpool2d", x)
	return x.AvgPool2d(p.window())
}

// Config returns p's settings.
func (p AvgPool2d) Config() any { return p.Pool2dSet }

var _ = RegisterLayer("avgpool2d", NewAvgPool2dOf, Pool2dSet{})
