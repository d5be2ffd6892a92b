package nn

import (
	"math"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// DropoutOptions are the settings of a Dropout and of its variants.
type DropoutOptions struct {
	P    float64 `json:"p"`              // probability of dropping an element; 0.5 if 0
	Seed uint64  `json:"seed,omitempty"` // of the masks outside a seeded step
}

// Layers that drop parts of their input with probability P during training. In a seeded step, as all are in training
// runs, what is dropped follows from its seed, otherwise from Seed and the draws before: of the process in a step, of
// the layer outside of steps.
type (
	// Dropout zeroes elements and scales the others by 1/(1 − P) (Srivastava et al., JMLR 2014).
	Dropout struct{ dropping }
	// ChannelDropout is Dropout of whole channels of x (N, C, …): PyTorch's Dropout1d, 2d and 3d (Tompson et al.,
	// arXiv:1411.4280).
	ChannelDropout struct{ dropping }
	// DropPath is Dropout of whole samples. As the last layer of the body of a residual block it is stochastic depth
	// (Huang et al., arXiv:1603.09382).
	DropPath struct{ dropping }
	// AlphaDropout sets elements to the lowest value of a SELU and keeps mean and variance (Klambauer et al.,
	// arXiv:1706.02515).
	AlphaDropout struct{ dropping }
)

// dropping is what the layers that drop parts of their inputs have in common.
type dropping struct {
	DropoutOptions
	Mode
	stream uint64        // of the first mask; each layer has its own
	calls  atomic.Uint64 // outside seeded steps
}

// dropouts counts the layers made.
var dropouts atomic.Uint64

var dropoutDefaults = DropoutOptions{P: 0.5}

// NewDropout returns a dropout layer.
func NewDropout(o DropoutOptions) *Dropout { return newDropout(withDefaults(o, dropoutDefaults)) }

// NewChannelDropout returns a dropout of channels.
func NewChannelDropout(o DropoutOptions) *ChannelDropout {
	return newChannelDropout(withDefaults(o, dropoutDefaults))
}

// NewDropPath returns a dropout of samples.
func NewDropPath(o DropoutOptions) *DropPath { return newDropPath(withDefaults(o, dropoutDefaults)) }

// NewAlphaDropout returns a dropout for inputs of mean 0 and variance 1.
func NewAlphaDropout(o DropoutOptions) *AlphaDropout {
	return newAlphaDropout(withDefaults(o, dropoutDefaults))
}

func newDropout(o DropoutOptions) *Dropout {
	d := &Dropout{}
	d.setup("dropout", o)
	return d
}

func newChannelDropout(o DropoutOptions) *ChannelDropout {
	d := &ChannelDropout{}
	d.setup("dropout2d", o)
	return d
}

func newDropPath(o DropoutOptions) *DropPath {
	d := &DropPath{}
	d.setup("drop_path", o)
	return d
}

func newAlphaDropout(o DropoutOptions) *AlphaDropout {
	d := &AlphaDropout{}
	d.setup("alpha_dropout", o)
	return d
}

func (d *dropping) setup(layer string, o DropoutOptions) {
	if !(o.P >= 0 && o.P < 1) {
		tensor.Fail(layer, views.ErrShape, "probability %v; want 0 ≤ p < 1", o.P)
	}
	d.DropoutOptions, d.stream = o, dropouts.Add(1)<<32
}

// Forward drops elements of x in training and returns x itself otherwise.
func (d *Dropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	p, key := d.draw(x)
	if p == 0 {
		return x
	}
	return x.Dropout(p, key)
}

// Forward drops channels of x in training and returns x itself otherwise.
func (d *ChannelDropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() < 3 {
		tensor.Fail("dropout2d", views.ErrShape, "input %v; want samples, channels and spatial axes", x.Shape())
	}
	return d.dropParts(x, 2)
}

// Forward drops samples of x in training and returns x itself otherwise.
func (d *DropPath) Forward(x *tensor.Tensor) *tensor.Tensor {
	return d.dropParts(x, 1)
}

// Forward drops elements of x in training and returns x itself otherwise.
func (d *AlphaDropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	p, key := d.draw(x)
	if p == 0 {
		return x
	}
	const lowest = -1.7580993408473766 // −λ·α of SELU
	scale := 1 / math.Sqrt((1-p)*(1+p*lowest*lowest))
	kept := tensor.OnesLike(x).Dropout(p, key).MulScalar(1 - p)
	return x.SubScalar(lowest).Mul(kept).MulScalar(scale).AddScalar(scale*lowest - scale*p*lowest)
}

// dropParts drops the parts of x that have one place along its first axes.
func (d *dropping) dropParts(x *tensor.Tensor, axes int) *tensor.Tensor {
	p, key := d.draw(x)
	if p == 0 {
		return x
	}
	one := x.Detach()
	for axis := axes; axis < x.Rank(); axis++ {
		one = one.Slice(axis, 0, 1, 1)
	}
	return x.Mul(tensor.OnesLike(one).Dropout(p, key))
}

// draw returns the probability, 0 in evaluation, and the key of the next mask, for something in the step of x.
func (d *dropping) draw(x *tensor.Tensor) (p float64, key tensor.Key) {
	if p = d.options().P; !d.Training() || p == 0 {
		return 0, key
	}
	key, seeded := x.NextKey()
	switch {
	case seeded:
	case x.Tape() != nil: // whose keys tensor.Checkpoint can draw again
		key.Seed = d.Seed
	default:
		key = tensor.Key{Seed: d.Seed, Stream: d.stream + d.calls.Add(1)}
	}
	return p, key
}

// options returns the settings. A literal has no stream.
func (d *dropping) options() DropoutOptions {
	return settingsOf(d.stream != 0, d.DropoutOptions, dropoutDefaults)
}

// Config returns the settings of d.
func (d *dropping) Config() any { return d.options() }

var (
	_ = RegisterLayer("dropout", newDropout, dropoutDefaults)
	_ = RegisterLayer("dropout2d", newChannelDropout, dropoutDefaults)
	_ = RegisterLayer("drop_path", newDropPath, dropoutDefaults)
	_ = RegisterLayer("alpha_dropout", newAlphaDropout, dropoutDefaults)
	_ = layers.aliases("dropout2d", "dropout1d", "dropout3d", "channel_dropout", "spatial_dropout1d", "spatial_dropout2d", "spatial_dropout3d")
	_ = layers.aliases("drop_path", "stochastic_depth")
)
