package nn

import "github.com/h5dnn/h5dnn/tensor"

// GlobalAvgPool2d is the mean of each channel: (N, C, H, W) to (N, C, 1, 1).
type GlobalAvgPool2d struct{}

// Forward returns the means of images x.
func (GlobalAvgPool2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	checkImages("globalavgpool2d", x)
	return x.MeanKeepDims(2, 3)
}

// Config returns no settings.
func (GlobalAvgPool2d) Config() any { return struct{}{} }

// Settings are ignored: KeyDNN and Keras write some for this layer.
var _ = RegisterLayer("globalavgpool2d", func(map[string]any) GlobalAvgPool2d { return GlobalAvgPool2d{} }, nil)
