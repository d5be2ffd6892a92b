package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PoolOptions are the settings of MaxPool2d and AvgPool2d.
type PoolOptions struct {
	KernelSize Sizes `json:"kernel_size"`
	Stride     Sizes `json:"stride"`  // KernelSize if nil
	Padding    Sizes `json:"padding"` // at both ends of each axis
}

// validate returns o with a number for each axis.
func (o PoolOptions) validate(layer string, rank int) PoolOptions {
	o.KernelSize = o.KernelSize.expand(layer, "kernel size", rank, 0)
	if o.Stride == nil {
		o.Stride = o.KernelSize
	}
	o.Stride = o.Stride.expand(layer, "stride", rank, 0)
	o.Padding = o.Padding.expand(layer, "padding", rank, 0)
	checkWindow(layer, o.KernelSize, o.Stride, o.Padding)
	for i, p := range o.Padding {
		if 2*p > o.KernelSize[i] {
			tensor.Fail(layer, views.ErrShape, "padding %v; want at most half of kernel size %v", o.Padding, o.KernelSize)
		}
	}
	return o
}

func (o PoolOptions) tensorOptions() tensor.PoolOptions {
	t := tensor.PoolOptions{Padding: tensor.Pad(o.Padding...)}
	copy(t.Kernel[:], o.KernelSize)
	copy(t.Stride[:], o.Stride)
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
