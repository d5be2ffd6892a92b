package nn

import (
	"math"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// BatchNormOptions are the settings of BatchNorm1d, 2d and 3d.
type BatchNormOptions struct {
	NumFeatures int            `json:"num_features,omitempty"` // channels; taken from the first input if 0
	Eps         float64        `json:"eps"`                    // 1e-5 if 0
	Momentum    float64        `json:"momentum"`               // weight of a batch in the running statistics; 0.1 if 0
	NoAffine    Negated        `json:"affine"`                 // multiply by gamma and add beta
	Sync        bool           `json:"sync,omitempty"`         // in training on several shards, normalize by the statistics of the whole batch instead of the shard's part
	Frozen      bool           `json:"frozen,omitempty"`       // normalize by the running statistics in training, too, and leave them as they are
	DType       dtype.Type     `json:"dtype,omitzero"`         // the first input's if absent; float32 if num_features is given
	Device      storage.Device `json:"-" nn:"-"`               // the first input's if nil; the CPU if num_features is given
}

// BatchNorm1d is γ·(x − mean)/√(variance + ε) + β for each feature of x (N, C) or
// (N, C, L), with the statistics of the batch in training and the running ones otherwise
// (Ioffe and Szegedy, arXiv:1502.03167).
type BatchNorm1d struct{ BatchNormalization }

// BatchNorm2d is BatchNorm1d for each channel of images x (N, C, H, W).
type BatchNorm2d struct{ BatchNormalization }

// BatchNorm3d is BatchNorm1d for each channel of volumes x (N, C, D, H, W).
type BatchNorm3d struct{ BatchNormalization }

// BatchNormalization is what BatchNorm1d, BatchNorm2d and BatchNorm3d have in common.
type BatchNormalization struct {
	BatchNormOptions
	Mode
	deferred
	axes                    int        // spatial ones of the input; BatchNorm1d takes inputs of none, too
	Gamma, Beta             *Parameter // C; nil without affine
	RunningMean, RunningVar *Buffer    // C

	identity atomic.Pointer[gammaBeta] // in the place of Gamma and Beta
	sum      ShardSum                  // nil but in training with sync
}

// gammaBeta is a scale and an offset for each feature.
type gammaBeta struct{ gamma, beta *tensor.Tensor }

var batchNormDefaults = BatchNormOptions{Eps: 1e-5, Momentum: 0.1}

// NewBatchNorm1d returns a layer, built if NumFeatures is given.
// Zero Eps and Momentum stand for their defaults; set the fields of the layer for
// zeros.
func NewBatchNorm1d(o BatchNormOptions) *BatchNorm1d {
	return newBatchNorm1d(withDefaults(o, batchNormDefaults))
}

// NewBatchNorm2d returns a layer for channels, as NewBatchNorm1d does.
func NewBatchNorm2d(o BatchNormOptions) *BatchNorm2d {
	return newBatchNorm2d(withDefaults(o, batchNormDefaults))
}

// NewBatchNorm3d returns a layer for channels, as NewBatchNorm1d does.
func NewBatchNorm3d(o BatchNormOptions) *BatchNorm3d {
	return newBatchNorm3d(withDefaults(o, batchNormDefaults))
}

func newBatchNorm1d(o BatchNormOptions) *BatchNorm1d {
	b := &BatchNorm1d{}
	b.setup("batchnorm1d", 1, o)
	return b
}

func newBatchNorm2d(o BatchNormOptions) *BatchNorm2d {
	b := &BatchNorm2d{}
	b.setup("batchnorm2d", 2, o)
	return b
}

func newBatchNorm3d(o BatchNormOptions) *BatchNorm3d {
	b := &BatchNorm3d{}
	b.setup("batchnorm3d", 3, o)
	return b
}

func (b *BatchNormalization) setup(layer string, axes int, o BatchNormOptions) {
	checkRange(layer, "eps", o.Eps, 0, infinity)
	checkRange(layer, "momentum", o.Momentum, 0, math.Nextafter(1, 2))
	if o.NumFeatures < 0 {
		tensor.Fail(layer, views.ErrShape, "num_features %d; want at least 1", o.NumFeatures)
	}
	b.BatchNormOptions, b.axes = o, axes
	b.prepare(layer, o.NumFeatures > 0, deferral{
		b, &b.Device, &b.DType, func(x *tensor.Tensor) { b.NumFeatures = channels(x) }, b.make,
	})
}

func (b *BatchNormalization) make(alloc Allocator) {
	b.RunningMean, b.RunningVar = alloc.Buffer(ConstantFill(0), b.NumFeatures), alloc.Buffer(ConstantFill(1), b.NumFeatures)
	if !b.NoAffine {
		b.Gamma, b.Beta = alloc.Param(ConstantFill(1), b.NumFeatures), alloc.Param(ConstantFill(0), b.NumFeatures)
	}
}

// Forward normalizes x.
func (b *BatchNormalization) Forward(x *tensor.Tensor) *tensor.Tensor {
	return b.ForwardActivated(x, tensor.NoActivation)
}

// ForwardActivated returns act(Forward(x)).
func (b *BatchNormalization) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	b.buildFor("batchnorm", x)
	switch {
	case b.axes == 1 && x.Rank() < 2:
		checkFeatures(b.layer, x)
	case b.axes == 1 && x.Rank() == 2:
	default:
		checkSpatial(b.layer, x, b.axes)
	}
	checkDevice(b.layer, x, b.RunningMean.Data.Device())
	if x.Shape()[1] != b.NumFeatures {
		tensor.Fail(b.layer, views.ErrShape, "input %v; want %d along axis 1", x.Shape(), b.NumFeatures)
	}
	affine := b.affine()
	training := b.Training() && !b.Frozen
	if b.sum != nil && training {
		return activate[act](b.synchronized(x, affine))
	}
	return tensor.BatchNorm(x, affine.gamma, affine.beta, tensor.BatchNormOptions{
		Eps: nonZero(b.Eps), Momentum: b.Momentum, Training: training,
		RunningMean: b.RunningMean.Array, RunningVar: b.RunningVar.Array, Act: act,
	})
}

// SetMomentum sets the weight of a batch in the running statistics, and returns the one before.
func (b *BatchNormalization) SetMomentum(momentum float64) (old float64) {
	old, b.Momentum = b.Momentum, momentum
	return old
}

// nonZero returns the smallest number for a setting of 0, which package tensor would
// take for its default.
func nonZero(setting float64) float64 { return max(setting, math.SmallestNonzeroFloat64) }

// affine returns γ and β, or ones and zeros. Goroutines may share b.
func (b *BatchNormalization) affine() gammaBeta {
	if b.Gamma != nil {
		return gammaBeta{b.Gamma.Tensor, b.Beta.Tensor}
	}
	d := b.RunningMean.Data.Device()
	if have := b.identity.Load(); have != nil && have.gamma.Device() == d {
		return *have
	}
	alloc := NewAllocator(b.layer, d, b.RunningMean.Type)
	ones, zeros := alloc.Buffer(ConstantFill(1), b.NumFeatures), alloc.Buffer(ConstantFill(0), b.NumFeatures)
	made := &gammaBeta{tensor.FromArray(ones.Array), tensor.FromArray(zeros.Array)}
	b.identity.Store(made)
	return *made
}

var (
	_ = RegisterLayer("batchnorm1d", newBatchNorm1d, batchNormDefaults)
	_ = RegisterLayer("batchnorm2d", newBatchNorm2d, batchNormDefaults)
	_ = RegisterLayer("batchnorm3d", newBatchNorm3d, batchNormDefaults)
)
