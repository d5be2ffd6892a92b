package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A DropoutSet is the settings of a Dropout.
type DropoutSet struct {
	P    float64 `json:"p"`
	Seed uint64  `json:"seed,omitempty"` // of masks outside a seeded step
}

// Dropout zeroes elements with probability P while it is trained, and scales
// the others by 1/(1 − P). Masks follow from the step's seed (Tape.Seed);
// outside a seeded step, from Seed and how often the layer was called.
type Dropout struct {
	DropoutSet
	Mode
	calls uint64
}

// NewDropout returns a layer that drops with probability p.
func NewDropout(p float64) *Dropout { return NewDropoutOf(DropoutSet{P: p}) }

// NewDropoutOf returns a layer as set says.
func NewDropoutOf(set DropoutSet) *Dropout {
	if !(set.P >= 0 && set.P < 1) {
		tensor.Fail("dropout", views.ErrShape, "probability %v; want 0 ≤ p < 1", set.P)
	}
	return &Dropout{DropoutSet: set}
}

// Forward drops elements of x, or returns x where d is not being trained.
func (d *Dropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	if !d.Training() || d.P == 0 {
		return x
	}
	key, ok := x.NextKey()
	if !ok {
		key = tensor.Key{Seed: d.Seed, Stream: d.calls}
		d.calls++
	}
	return x.Dropout(d.P, key)
}

// Config returns d's settings.
func (d *Dropout) Config() any { return d.DropoutSet }

var _ = RegisterLayer("dropout", NewDropoutOf, DropoutSet{})
