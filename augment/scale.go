package augment

import (
	"math"
)

// ScaleOptions are the settings of a Scale.
type ScaleOptions struct {
	Factor Range   `json:"factor"` // of each channel; a number v is 1-v to 1+v
	P      float64 `json:"p"`      // probability; 1 if absent
}

// Scale multiplies each channel of a signal by a random factor.
type Scale struct {
	only
	chance
	ScaleOptions
}

// NewScale returns a scaling.
func NewScale(o ScaleOptions) *Scale {
	orDefault(&o.P, 1)
	return newScale(o)
}

func newScale(o ScaleOptions) *Scale {
	o.Factor.check("scale", "factor", 1, math.Inf(-1), math.Inf(1))
	checkProbability("scale", o.P)
	return &Scale{only(Signal), chance(o.P), o}
}

// Apply scales a sample.
func (a *Scale) Apply(to, from Sample, r *Random) error {
	return eachChannel(to, from, func(_ int, dst, src signal) {
		factor := a.Factor.draw(r, 1)
		for i := range dst.len() {
			dst.set(i, factor*src.at(i))
		}
	})
}

var _ = Register("scale", newScale, ScaleOptions{P: 1})
