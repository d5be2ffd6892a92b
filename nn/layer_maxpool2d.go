package nn

import "github.com/h5dnn/h5dnn/tensor"

// MaxPool2d is the maximum over each window of each channel. Padding is −∞.
type MaxPool2d struct{ PoolOptions }

// NewMaxPool2d returns a MaxPool2d. KernelSize is required.
func NewMaxPool2d(o PoolOptions) MaxPool2d { return MaxPool2d{o.validate("maxpool2d", 2)} }

// Forward pools images x (N, C, H, W).
func (p MaxPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	checkImages("maxpool2d", x)
	return x.MaxPool(p.tensorOptions())
}

// Config returns the settings of p.
func (p MaxPool2d) Config() any { return p.PoolOptions }

var _ = RegisterLayer("maxpool2d", NewMaxPool2d, PoolOptions{})
