package kernels

// #include "loops.h"
// #cgo noescape h5k_adam
// #cgo nocallback h5k_adam
import "C"

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
// Its outputs are p, and m and v, which start at zero. Its inputs are g and, if
// there are more, dials and a guard: see steer.go.
var Adam = define("adam",
	func(c *Call, set AdamSet) error {
		if set.Step < 1 {
			return fmt.Errorf("step %d; steps count from 1: %w", set.Step, storage.ErrState)
		}
		return c.updates(3, 3)
	},
	func(c *Call, set AdamSet) error {
		a := set.terms(c.dials())
		c.update(func(g float64, o []float64) {
			p, m, v := &o[0], &o[1], &o[2]
			g += a.coupled * *p
			*p *= a.keep
			*m = set.Beta1**m + (1-set.Beta1)*g
			*v = set.Beta2**v + (1-set.Beta2)*g*g
			*p -= a.rate * *m / (math.Sqrt(*v)*a.scale + set.Eps)
		})
		return nil
	},
	func(c *Call, set AdamSet) (bool, error) {
		p, m, v, grad := &c.Out[0], &c.Out[1], &c.Out[2], &c.In[0]
		if unscale, bad := c.guard(); bad || unscale != 1 {
			return bad, nil
		}
		real, ok := realOf(p.Type)
		var g grid
		n, fits := g.flat(p, m, v, grad)
		if !ok || !fits {
			return false, nil
		}
		if n == 0 {
			return true, nil
		}
		a := set.terms(c.dials())
		terms := C.h5k_adam_set{
			beta1: C.double(set.Beta1), beta2: C.double(set.Beta2), eps: C.double(set.Eps),
			coupled: C.double(a.coupled), keep: C.double(a.keep), rate: C.double(a.rate), scale: C.double(a.scale),
		}
		C.h5k_adam(real, n, g.at(3, grad), g.at(0, p), g.at(1, m), g.at(2, v), &terms)
		return true, nil
	})

// adamTerms are what of AdamSet is the same for all elements.
type adamTerms struct {
	coupled float64 // Decay, unless decoupled
	keep    float64 // 1 − Rate·Decay, if decoupled
	rate    float64 // Rate/(1 − Beta1ᵗ)
	scale   float64 // 1/√(1 − Beta2ᵗ)
}

// terms returns s's, or what dials have in the place of the last three.
func (s AdamSet) terms(dials []float64) adamTerms {
	a := adamTerms{coupled: s.Decay}
	if s.Decoupled {
		a.coupled = 0
	}
	if dials == nil {
		own := s.Dials()
		dials = own[:]
	}
	a.rate, a.keep, a.scale = dials[0], dials[1], dials[2]
	return a
}

// Dials returns what of s an update finds in its dials instead: what follows
// from Rate and Step.
func (s AdamSet) Dials() [dialed]float64 {
	keep := 1.0
	if s.Decoupled {
		keep = 1 - s.Rate*s.Decay
	}
	rate := s.Rate / (1 - math.Pow(s.Beta1, float64(s.Step)))
	return [dialed]float64{rate, keep, 1 / math.Sqrt(1-math.Pow(s.Beta2, float64(s.Step)))}
}
