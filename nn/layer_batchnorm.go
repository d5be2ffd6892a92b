package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A BatchNormSet is the settings of BatchNorm1d and BatchNorm2d.
type BatchNormSet struct {
	NumFeatures int            `json:"num_features"`
	Eps         float64        `json:"eps"`
	Momentum    float64        `json:"momentum"` // how much a batch moves the running statistics
	NoAffine    Not            `json:"affine"`
	DType       dtype.Type     `json:"dtype,omitempty"` // float32 if not given
	Device      storage.Device `json:"-" nn:"-"`        // the CPU if nil
}

// BatchNorm1d is γ·(x − mean)/√(variance + ε) + β, feature by feature of
// x (N, C): with the batch's own statistics while it is trained, with the
// running ones otherwise.
type BatchNorm1d struct{ batchNorm }

// BatchNorm2d is BatchNorm1d channel by channel of images x (N, C, H, W).
type BatchNorm2d struct{ batchNorm }

type batchNorm struct {
	BatchNormSet
	Mode
	Gamma, Beta             *Param  // C; nil without affine
	RunningMean, RunningVar *Buffer // C

	one, zero *tensor.Tensor // in the place of Gamma and Beta
}

var batchNormDefaults = BatchNormSet{Eps: 1e-5, Momentum: 0.1}

// NewBatchNorm1d returns a layer for n features, with ε 1e-5 and momentum 0.1.
func NewBatchNorm1d(n int) *BatchNorm1d {
	set := batchNormDefaults
	set.NumFeatures = n
	return NewBatchNorm1dOf(set)
}

// NewBatchNorm2d returns a layer for n channels, with ε 1e-5 and momentum 0.1.
func NewBatchNorm2d(n int) *BatchNorm2d {
	set := batchNormDefaults
	set.NumFeatures = n
	return NewBatchNorm2dOf(set)
}

// NewBatchNorm1dOf returns a layer as set says.
func NewBatchNorm1dOf(set BatchNormSet) *BatchNorm1d {
	return &BatchNorm1d{batchNormOf("batchnorm1d", set)}
}

// NewBatchNorm2dOf returns a layer as set says.
func NewBatchNorm2dOf(set BatchNormSet) *BatchNorm2d {
	return &BatchNorm2d{batchNormOf("batchnorm2d", set)}
}

// Forward normalises x.
func (b *BatchNorm1d) Forward(x *tensor.Tensor) *tensor.Tensor {
	wantRows("batchnorm1d", x)
	return b.normalise("batchnorm1d", x)
}

// Forward normalises images x.
func (b *BatchNorm2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	wantImages("batchnorm2d", x)
	return b.normalise("batchnorm2d", x)
}

func batchNormOf(layer string, set BatchNormSet) batchNorm {
	within(layer, "eps", set.Eps, 0, infinity)
	within(layer, "momentum", set.Momentum, 0, math.Nextafter(1, 2))
	at := placeOf(layer, set.Device, set.DType)
	set.Device, set.DType = at.device, at.dtype
	b := batchNorm{BatchNormSet: set}
	b.RunningMean, b.RunningVar = at.buffer(Constant(0), set.NumFeatures), at.buffer(Constant(1), set.NumFeatures)
	if !set.NoAffine {
		b.Gamma = at.param(Constant(1), tensor.Key{}, set.NumFeatures)
		b.Beta = at.param(Constant(0), tensor.Key{}, set.NumFeatures)
	}
	return b
}

func (b *batchNorm) normalise(layer string, x *tensor.Tensor) *tensor.Tensor {
	onDevice(layer, x, b.RunningMean.Data.Device())
	if x.Shape[1] != b.NumFeatures {
		tensor.Fail(layer, views.ErrShape, "input %v; want %d along axis 1", x.Shape, b.NumFeatures)
	}
	gamma, beta := b.scaling(layer)
	return tensor.BatchNorm(x, gamma, beta, tensor.BatchNormOptions{
		Eps: b.Eps, Momentum: b.Momentum, Training: b.Training(),
		RunningMean: b.RunningMean.Array, RunningVar: b.RunningVar.Array,
	})
}

// scaling returns γ and β, or one and zero.
func (b *batchNorm) scaling(layer string) (gamma, beta *tensor.Tensor) {
	if b.Gamma != nil {
		return b.Gamma.Tensor, b.Beta.Tensor
	}
	if d := b.RunningMean.Data.Device(); b.one == nil || b.one.Data.Device() != d {
		at := placeOf(layer, d, b.RunningMean.Type)
		b.one = tensor.Of(at.buffer(Constant(1), b.NumFeatures).Array)
		b.zero = tensor.Of(at.buffer(Constant(0), b.NumFeatures).Array)
	}
	return b.one, b.zero
}

// Config returns b's settings.
func (b *batchNorm) Config() any { return b.BatchNormSet }

var (
	_ = RegisterLayer("batchnorm1d", NewBatchNorm1dOf, batchNormDefaults)
	_ = RegisterLayer("batchnorm2d", NewBatchNorm2dOf, batchNormDefaults)
)
