package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// AdaptivePoolOptions are the settings of AdaptiveAvgPool and AdaptiveMaxPool.
type AdaptivePoolOptions struct {
	OutputSize Sizes `json:"output_size"` // of each spatial axis; required
}

// Pooling of each channel of x (N, C, …) into windows of nearly equal sizes: window i of n along an axis of m elements
// has those from ⌊i·m/n⌋ to ⌈(i + 1)·m/n⌉, as in PyTorch.
type (
	AdaptiveAvgPool struct{ AdaptivePoolOptions } // the means of the windows
	AdaptiveMaxPool struct{ AdaptivePoolOptions } // the maxima of the windows
)

// NewAdaptiveAvgPool returns an AdaptiveAvgPool. OutputSize is required.
func NewAdaptiveAvgPool(o AdaptivePoolOptions) AdaptiveAvgPool {
	return AdaptiveAvgPool{o.checked("adaptive_avg_pool")}
}

// NewAdaptiveMaxPool returns an AdaptiveMaxPool. OutputSize is required.
func NewAdaptiveMaxPool(o AdaptivePoolOptions) AdaptiveMaxPool {
	return AdaptiveMaxPool{o.checked("adaptive_max_pool")}
}

func (o AdaptivePoolOptions) checked(layer string) AdaptivePoolOptions {
	if len(o.OutputSize) == 0 || len(o.OutputSize) > 3 {
		tensor.Fail(layer, views.ErrShape, "output_size %v; want a number for each spatial axis", o.OutputSize)
	}
	for _, n := range o.OutputSize {
		if n < 1 {
			tensor.Fail(layer, views.ErrShape, "output_size %v; want at least 1", o.OutputSize)
		}
	}
	return o
}

// Forward pools x.
func (p AdaptiveAvgPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return p.pool("adaptive_avg_pool", x, (*tensor.Tensor).AvgPool, (*tensor.Tensor).Mean)
}

// Forward pools x.
func (p AdaptiveMaxPool) Forward(x *tensor.Tensor) *tensor.Tensor {
	return p.pool("adaptive_max_pool", x, (*tensor.Tensor).MaxPool, (*tensor.Tensor).Max)
}

// pool pools x by windows that are equal, or else along one axis after the other, which is the same for means and maxima.
func (o AdaptivePoolOptions) pool(layer string, x *tensor.Tensor, windows func(*tensor.Tensor, tensor.PoolOptions) *tensor.Tensor, reduce func(*tensor.Tensor, ...int) *tensor.Tensor) *tensor.Tensor {
	sizes := o.checked(layer).OutputSize
	checkSizes(layer, "output_size", x, sizes)
	equal, t := true, tensor.PoolOptions{}
	for i, n := range sizes {
		m := x.Shape()[i+2]
		equal = equal && m >= n && m%n == 0
		t.Kernel[i], t.Stride[i] = m/n, m/n
	}
	if equal {
		return windows(x, t)
	}
	for i, n := range sizes {
		axis, m := i+2, x.Shape()[i+2]
		parts := make([]*tensor.Tensor, n)
		for k := range parts {
			first, end := k*m/n, ((k+1)*m+n-1)/n
			parts[k] = reduce(x.Slice(axis, first, end, 1), axis, tensor.KeepDims)
		}
		x = tensor.Cat(axis, parts...)
	}
	return x
}

// InputSpec returns the number of spatial axes.
func (o AdaptivePoolOptions) InputSpec() InputSpec { return InputSpec{Spatial: len(o.OutputSize)} }

var (
	_ = RegisterLayer("adaptive_avg_pool", NewAdaptiveAvgPool, AdaptivePoolOptions{})
	_ = RegisterLayer("adaptive_max_pool", NewAdaptiveMaxPool, AdaptivePoolOptions{})
)
