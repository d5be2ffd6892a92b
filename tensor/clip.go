package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// ClipGradNorm returns gradients scaled by the same factor, so that their norm, taken over all
// of them together, is at most limit (Pascanu, Mikolov and Bengio, arXiv:1211.5063):
// min(1, limit/(norm + 1e-6)). The gradients are divided by lossScale, a single element,
// before the norm is taken, unless lossScale is nil. The number of kernel launches hardly depends on the number
// of gradients.
func ClipGradNorm(gradients []*Tensor, limit float64, lossScale *Tensor) []*Tensor {
	if len(gradients) == 0 {
		return nil
	}
	in, o := gradients, kernels.ClipFactorOptions{Limit: limit}
	if lossScale != nil {
		in, o.LossScale = append(gradients[:len(gradients):len(gradients)], lossScale), true
	}
	factor := runKernel(kernels.ClipFactor, o, Spec{Type: dtype.Float64, View: views.Of()}, in...)
	return RunKernel(kernels.Scale, nil, likeAll(gradients), append(gradients[:len(gradients):len(gradients)], factor)...)
}

// ClipGradValue returns gradients whose elements are limited to the range from −limit to limit, times lossScale, a
// single element, unless that is nil. The number of kernel launches hardly depends on the number of gradients.
func ClipGradValue(gradients []*Tensor, limit float64, lossScale *Tensor) []*Tensor {
	if len(gradients) == 0 {
		return nil
	}
	in := gradients
	if lossScale != nil {
		in = append(gradients[:len(gradients):len(gradients)], lossScale)
	}
	return RunKernel(kernels.ClampAll, kernels.ClampAllOptions{Limit: limit}, likeAll(gradients), in...)
}

// likeAll describes tensors like all of xs.
func likeAll(xs []*Tensor) []Spec {
	specs := make([]Spec, len(xs))
	for i, x := range xs {
		specs[i] = like(x)
	}
	return specs
}

// The gradients of the samples are made of integers, which have none themselves.
var (
	_ = samples.Register("clip grad norm", unary(func(x *Tensor) *Tensor { return ClipGradNorm([]*Tensor{x.Cast(dtype.Float32)}, 1.5, nil)[0] }), places([]int{3, 4}, 9))
	_ = samples.Register("clip grad value", unary(func(x *Tensor) *Tensor { return ClipGradValue([]*Tensor{x.Cast(dtype.Float32)}, 4, nil)[0] }), places([]int{3, 4}, 9))
)
