package nn

import (
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// WeightNormOptions are the settings of a WeightNorm.
type WeightNormOptions struct {
	Layer Submodule `json:"layer" nn:"-"`  // linear, dense or a convolution; required
	Dim   int       `json:"dim,omitempty"` // axis of the weight that has a length for each index; -1 for one length
}

// WeightNorm is a layer whose weight is g·v/‖v‖, with a trained length g for each output and a trained direction v
// (Salimans and Kingma, arXiv:1602.07868).
type WeightNorm struct {
	WeightNormOptions
	WeightV, WeightG, Bias *Parameter
	reparametrized
}

// NewWeightNorm returns a WeightNorm. Layer is required.
func NewWeightNorm(o WeightNormOptions) *WeightNorm {
	n := &WeightNorm{WeightNormOptions: o}
	n.wrap("weight_norm", o.Layer.Module, n.take)
	if rank := 2 + len(n.within.spec().Window); o.Dim < -1 || o.Dim >= rank {
		tensor.Fail("weight_norm", views.ErrShape, "dim %d of a weight with %d axes; want -1 to %d", o.Dim, rank, rank-1)
	}
	return n
}

func (n *WeightNorm) take(weight, bias *Parameter) {
	n.refill(weight, "weight_v")
	var lengths []int
	if n.Dim >= 0 {
		lengths = ones(weight.Rank())
		lengths[n.Dim] = weight.Shape()[n.Dim]
	}
	alloc := NewAllocator("weight_norm", weight.Device(), weight.DType())
	n.WeightV, n.Bias = weight, bias
	n.WeightG = alloc.Param(func(a storage.Array, _ tensor.Key) { // v has its values before
		assign("weight_norm", a, n.lengths(n.WeightV.Detach()))
	}, lengths...)
}

// IsBuilt reports whether the layer has its parameters.
func (n *WeightNorm) IsBuilt() bool { return n.WeightV != nil }

// lengths returns the lengths of the parts of v.
func (n *WeightNorm) lengths(v *tensor.Tensor) *tensor.Tensor {
	if n.Dim < 0 {
		return v.Square().Sum().Sqrt()
	}
	shape, others := ones(v.Rank()), []int{}
	for axis := range shape {
		if axis != n.Dim {
			others = append(others, axis)
		}
	}
	shape[n.Dim] = v.Shape()[n.Dim]
	return v.Square().Sum(others...).Sqrt().Reshape(shape...)
}

// Forward returns the output of the layer with the weight g·v/‖v‖.
func (n *WeightNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return n.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (n *WeightNorm) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	n.buildFor("weight_norm", n.IsBuilt(), x)
	v := n.WeightV.InStepOf(x)
	return n.within.forwardWith(x, v.Mul(n.WeightG.Div(n.lengths(v))), n.Bias.tensorOf(), act)
}

// ones returns n sizes of 1.
func ones(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = 1
	}
	return sizes
}

// assign copies the elements of x to a.
func assign(layer string, a storage.Array, x *tensor.Tensor) {
	if a.Data.Device() == tensor.Meta || x.IsMeta() {
		return
	}
	if err := x.Array().CopyTo(a); err != nil {
		tensor.Fail(layer, err, "%v", err)
	}
}

var _ = RegisterLayer("weight_norm", NewWeightNorm, WeightNormOptions{})
