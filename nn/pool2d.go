package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Pool2dSet is the settings of MaxPool2d and AvgPool2d.
type Pool2dSet struct {
	KernelSize Pair `json:"kernel_size"`
	Stride     Pair `json:"stride"` // KernelSize if zero
	Padding    Pair `json:"padding"`
}

// sound returns set with what it leaves open filled in.
func (set Pool2dSet) sound(layer string) Pool2dSet {
	set.Stride = set.Stride.or(set.KernelSize)
	wantWindow(layer, set.KernelSize, set.Stride, set.Padding)
	if 2*set.Padding[0] > set.KernelSize[0] || 2*set.Padding[1] > set.KernelSize[1] {
		tensor.Fail(layer, views.ErrShape, "padding %v; want at most half of kernel size %v", set.Padding, set.KernelSize)
	}
	return set
}

func (set Pool2dSet) window() tensor.Pool2dOptions {
	return tensor.Pool2dOptions{Kernel: set.KernelSize, Stride: set.Stride, Padding: set.Padding}
}
