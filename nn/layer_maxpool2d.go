package nn

import "github.com/h5dnn/h5dnn/tensor"

// MaxPool2d is the largest element of each window of each channel. Padding counts as −∞.
type MaxPool2d struct{ Pool2dSet }

// NewMaxPool2d returns a layer of square windows side by side.
func NewMaxPool2d(kernel int) MaxPool2d {
	return NewMaxPool2dOf(Pool2dSet{KernelSize: Both(kernel)})
}

// NewMaxPool2dOf returns a layer as set says.
func NewMaxPool2dOf(set Pool2dSet) MaxPool2d { return MaxPool2d{set.sound("maxpool2d")} }

// Forward returns the pooled images x.
func (p MaxPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	wantImages("maxpool2d", x)
	return x.MaxPool2d(p.window())
}

// Config returns p's settings.
func (p MaxPool2d) Config() any { return p.Pool2dSet }

var _ = RegisterLayer("maxpool2d", NewMaxPool2dOf, Pool2dSet{})
