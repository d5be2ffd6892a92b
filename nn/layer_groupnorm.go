package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// GroupNormOptions are the settings of a GroupNorm.
type GroupNormOptions struct {
	NumGroups   int            `json:"num_groups"`             // a divisor of NumChannels; required
	NumChannels int            `json:"num_channels,omitempty"` // taken from the first input if 0
	Eps         float64        `json:"eps"`                    // 1e-5 if 0
	NoAffine    Negated        `json:"affine"`                 // multiply by Weight and add Bias
	DType       dtype.Type     `json:"dtype,omitzero"`         // the first input's if absent; float32 if the channels are given
	Device      storage.Device `json:"-" nn:"-"`               // the first input's if nil; the CPU if the channels are given
}

// GroupNorm is w·(x − mean)/√(variance + ε) + b of x (N, C, …) with the statistics of each sample over each group of
// channels (Wu and He, arXiv:1803.08494).
type GroupNorm struct {
	GroupNormOptions
	channelAffine
}

// InstanceNormOptions are the settings of an InstanceNorm.
type InstanceNormOptions struct {
	NumFeatures int            `json:"num_features,omitempty"` // channels; taken from the first input if 0
	Eps         float64        `json:"eps"`                    // 1e-5 if 0
	Affine      bool           `json:"affine"`                 // multiply by Weight and add Bias
	DType       dtype.Type     `json:"dtype,omitzero"`         // the first input's if absent; float32 if the channels are given
	Device      storage.Device `json:"-" nn:"-"`               // the first input's if nil; the CPU if the channels are given
}

// InstanceNorm is GroupNorm with a group for each channel of x (N, C, …) (Ulyanov et al., arXiv:1607.08022). It is
// PyTorch's InstanceNorm1d, 2d and 3d without running statistics.
type InstanceNorm struct {
	InstanceNormOptions
	channelAffine
}

// A channelAffine multiplies channels by Weight and adds Bias, both of shape (C); nil for neither.
type channelAffine struct {
	Weight, Bias *Parameter
	deferred
}

var (
	groupNormDefaults    = GroupNormOptions{Eps: 1e-5}
	instanceNormDefaults = InstanceNormOptions{Eps: 1e-5}
)

// NewGroupNorm returns a GroupNorm, built if NumChannels is given. NumGroups is required.
func NewGroupNorm(o GroupNormOptions) *GroupNorm {
	return newGroupNorm(withDefaults(o, groupNormDefaults))
}

// NewInstanceNorm returns an InstanceNorm, built if NumFeatures is given.
func NewInstanceNorm(o InstanceNormOptions) *InstanceNorm {
	return newInstanceNorm(withDefaults(o, instanceNormDefaults))
}

func newGroupNorm(o GroupNormOptions) *GroupNorm {
	if o.NumGroups < 1 || o.NumChannels < 0 {
		tensor.Fail("groupnorm", views.ErrShape, "num_groups %d, num_channels %d; want at least 1 of each", o.NumGroups, o.NumChannels)
	}
	checkRange("groupnorm", "eps", o.Eps, 0, infinity)
	g := &GroupNorm{GroupNormOptions: o}
	g.prepare("groupnorm", o.NumChannels > 0, deferral{
		g, &g.Device, &g.DType, func(x *tensor.Tensor) { g.NumChannels = channels(x) },
		func(alloc Allocator) {
			if g.NumChannels%g.NumGroups != 0 {
				tensor.Fail("groupnorm", views.ErrShape, "%d groups of %d channels; want a divisor", g.NumGroups, g.NumChannels)
			}
			g.make(alloc, !bool(g.NoAffine), g.NumChannels)
		},
	})
	return g
}

func newInstanceNorm(o InstanceNormOptions) *InstanceNorm {
	if o.NumFeatures < 0 {
		tensor.Fail("instancenorm", views.ErrShape, "num_features %d; want at least 1", o.NumFeatures)
	}
	checkRange("instancenorm", "eps", o.Eps, 0, infinity)
	n := &InstanceNorm{InstanceNormOptions: o}
	n.prepare("instancenorm", o.NumFeatures > 0, deferral{
		n, &n.Device, &n.DType, func(x *tensor.Tensor) { n.NumFeatures = channels(x) },
		func(alloc Allocator) { n.make(alloc, n.Affine, n.NumFeatures) },
	})
	return n
}

func (a *channelAffine) make(alloc Allocator, affine bool, channels int) {
	if affine {
		a.Weight, a.Bias = alloc.Param(ConstantFill(1), channels), alloc.Param(ConstantFill(0), channels)
	}
}

// Forward normalizes x.
func (g *GroupNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	g.buildFor("groupnorm", x)
	return g.normalize(x, g.NumGroups, g.NumChannels, g.Eps)
}

// Forward normalizes x.
func (n *InstanceNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	n.buildFor("instancenorm", x)
	return n.normalize(x, n.NumFeatures, n.NumFeatures, n.Eps)
}

func (a *channelAffine) normalize(x *tensor.Tensor, groups, channels int, eps float64) *tensor.Tensor {
	if x.Rank() < 2 || x.Shape()[1] != channels {
		tensor.Fail(a.layer, views.ErrShape, "input %v; want %d channels along axis 1", x.Shape(), channels)
	}
	size := 1
	for _, n := range x.Shape()[1:] {
		size *= n
	}
	size /= groups
	y := tensor.LayerNorm(x.Contiguous().Reshape(x.Shape()[0], groups, size), []int{size}, nil, nil, nonZero(eps)).Reshape(x.Shape()...)
	if a.Weight == nil {
		return y
	}
	checkDevice(a.layer, x, a.Weight.Device())
	return y.Mul(perChannel(a.Weight.Tensor, x.Rank())).Add(perChannel(a.Bias.Tensor, x.Rank()))
}

// perChannel returns v, of the channels, as an operand for an input (N, C, …) of that rank.
func perChannel(v *tensor.Tensor, rank int) *tensor.Tensor {
	shape := make([]int, rank-1)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = v.Len()
	return v.Reshape(shape...)
}

var (
	_ = RegisterLayer("groupnorm", newGroupNorm, groupNormDefaults)
	_ = RegisterLayer("instancenorm", newInstanceNorm, instanceNormDefaults)
	_ = layers.aliases("instancenorm", "instancenorm1d", "instancenorm2d", "instancenorm3d")
)
