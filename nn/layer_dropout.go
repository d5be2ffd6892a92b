package nn

import (
	"sync/atomic"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// DropoutOptions are the settings of a Dropout.
type DropoutOptions struct {
	P    float64 `json:"p"`              // probability of dropping an element; 0.5 if 0
	Seed uint64  `json:"seed,omitempty"` // of the masks outside a seeded step
}

// Dropout zeroes elements with probability P during training and scales the
// others by 1/(1 − P). In a seeded step, as all are in training runs, the
// masks follow from its seed, otherwise from Seed and the draws before: of the
// process in a step, of the layer outside of steps.
type Dropout struct {
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

func newDropout(o DropoutOptions) *Dropout {
	if !(o.P >= 0 && o.P < 1) {
		tensor.Fail("dropout", views.ErrShape, "probability %v; want 0 ≤ p < 1", o.P)
	}
	return &Dropout{DropoutOptions: o, stream: dropouts.Add(1) << 32}
}

// Forward drops elements of x in training and returns x itself otherwise.
func (d *Dropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	p, key := d.draw(x)
	if p == 0 {
		return x
	}
	return x.Dropout(p, key)
}

// draw returns the probability, 0 in evaluation, and the key of the next mask, for something in the step of x.
func (d *Dropout) draw(x *tensor.Tensor) (p float64, key tensor.Key) {
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
func (d *Dropout) options() DropoutOptions {
	return settingsOf(d.stream != 0, d.DropoutOptions, dropoutDefaults)
}

// Config returns the settings of d.
func (d *Dropout) Config() any { return d.options() }

var _ = RegisterLayer("dropout", newDropout, dropoutDefaults)
