package nn

import "github.com/h5dnn/h5dnn/tensor"

// AvgPool2d is the mean over each window of each channel. Padding counts as zeros.
type AvgPool2d struct{ PoolOptions }

// NewAvgPool2d returns a AvgPool2d. KernelSize is required.
func NewAvgPool2d(o PoolOptions) AvgPool2d { return AvgPool2d{o.validate("avgpool2d", 2)} }

// Forward pools images x (N, C, H, W).
func (p AvgPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	checkImages("avgpool2d", x)
	return x.AvgPool(p.tensorOptions())
}

// Config returns the settings of p.
func (p AvgPool2d) Config() any { return p.PoolOptions }

var _ = RegisterLayer("avgpool2d", NewAvgPool2d, PoolOptions{})
