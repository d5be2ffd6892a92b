package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/storage"
)

// AdamSet is the settings of Adam.
type AdamSet struct {
	Rate, Beta1, Beta2, Eps, Decay float64
	Decoupled                      bool // AdamW
	Step                           int  // counts from 1
}

// Adam updates parameters p by their gradient g (Kingma and Ba,
// arXiv:1412.6980), at step t:
//
//	g ← g + Decay·p, or decoupled (Loshchilov and Hutter, arXiv:1711.05101) p ← p − Rate·Decay·p
//	m ← Beta1·m + (1 − Beta1)·g
//	v ← Beta2·v + (1 − Beta2)·g²
//	p ← p − Rate·m/(1 − Beta1ᵗ) / (√(v/(1 − Beta2ᵗ)) + Eps)
//
// Its outputs are p, and m and v, which start at zero.
var Adam = define("adam",
	func(c *Call, set AdamSet) error {
		if set.Step < 1 {
			return fmt.Errorf("step %d; steps count from 1: %w", set.Step, storage.ErrState)
		}
		return c.updates(3, 3)
	},
	func(c *Call, set AdamSet) error {
		a := set.terms()
		c.update(func(g float64, o []float64) {
			p, m, v := &o[0], &o[1], &o[2]
			g += a.coupled * *p
			*p *= a.keep
			*m = set.Beta1**m + (1-set.Beta1)*g
			*v = set.Beta2**v + (1-set.Beta2)*g*g
			*p -= a.rate * *m / (math.Sqrt(*v)*a.scale + set.Eps)
		})
		return nil
	}, nil)

// adamTerms are what of AdamSet is the same for all elements.
type adamTerms struct {
	coupled float64 // Decay, unless decoupled
	keep    float64 // 1 − Rate·Decay, if decoupled
	rate    float64 // Rate/(1 − Beta1ᵗ)
	scale   float64 // 1/√(1 − Beta2ᵗ)
}

func (s AdamSet) terms() adamTerms {
	a := adamTerms{coupled: s.Decay, keep: 1}
	if s.Decoupled {
		a.coupled, a.keep = 0, 1-s.Rate*s.Decay
	}
	a.rate = s.Rate / (1 - math.Pow(s.Beta1, float64(s.Step)))
	a.scale = 1 / math.Sqrt(1-math.Pow(s.Beta2, float64(s.Step)))
	return a
}
