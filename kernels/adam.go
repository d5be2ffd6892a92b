package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// AdamSet is the settings of Adam.
type AdamSet struct {
	Rate, Beta1, Beta2, Eps, Decay float64
	Decoupled                      bool // AdamW
	Step                           int  // counts from 1
}

// Adam updates parameters p by their gradients g (Kingma and Ba,
// arXiv:1412.6980), at step t:
//
//	g ← g + Decay·p, or decoupled (Loshchilov and Hutter, arXiv:1711.05101) p ← p − Rate·Decay·p
//	m ← Beta1·m + (1 − Beta1)·g
//	v ← Beta2·v + (1 − Beta2)·g²
//	p ← p − Rate·m/(1 − Beta1ᵗ) / (√(v/(1 − Beta2ᵗ)) + Eps)
//
// Its outputs are p, and m and v, which start at zero, of each parameter; its inputs
// are said in update.go. Steps that a guard has left out do not count in t.
var Adam = define("adam",
	func(c *Call, set AdamSet) error {
		if set.Step < 1 {
			return fmt.Errorf("step %d; steps count from 1: %w", set.Step, storage.ErrState)
		}
		return c.updates(adamArrays)
	},
	func(c *Call, set AdamSet) error {
		by := steeredBy(c.In[len(c.Out)/adamArrays:])
		for i := range len(c.Out) / adamArrays {
			out, g := c.parameter(i, adamArrays)
			set.plain(out, g, by)
		}
		return nil
	},
	func(c *Call, set AdamSet) (bool, error) {
		by := steeredBy(c.In[len(c.Out)/adamArrays:])
		for i := range len(c.Out) / adamArrays {
			out, g := c.parameter(i, adamArrays)
			if !set.fast(out, g, by) {
				set.plain(out, g, by)
			}
		}
		return true, nil
	})

const adamArrays = 3

func (s AdamSet) plain(out []storage.Array, grad *storage.Array, by steered) {
	if by.bad {
		return
	}
	a := s.terms(by)
	update(out, grad, by.unscale, func(g float64, o []float64) {
		p, m, v := &o[0], &o[1], &o[2]
		g += a.coupled * *p
		*p *= a.keep
		*m = s.Beta1**m + (1-s.Beta1)*g
		*v = s.Beta2**v + (1-s.Beta2)*g*g
		*p -= a.rate * *m / (math.Sqrt(*v)*a.scale + s.Eps)
	})
}

// fast reports false for what it leaves to plain.
func (s AdamSet) fast(out []storage.Array, grad *storage.Array, by steered) bool {
	p, m, v := &out[0], &out[1], &out[2]
	real, ok := native.RealOf(p.Type)
	var g native.Grid
	n, fits := g.Flat(&p.View, &m.View, &v.View, &grad.View)
	if !ok || !fits || by.bad || by.unscale != 1 {
		return false
	}
	if n == 0 {
		return true
	}
	a := s.terms(by)
	terms := native.AdamTerms{Beta1: s.Beta1, Beta2: s.Beta2, Eps: s.Eps, Coupled: a.coupled, Keep: a.keep, Rate: a.rate, Scale: a.scale}
	native.Adam(real, n, at(&g, 3, grad), at(&g, 0, p), at(&g, 1, m), at(&g, 2, v), &terms)
	return true
}

// adamTerms are what is the same for all elements.
type adamTerms struct {
	coupled float64 // Decay, unless decoupled
	keep    float64 // 1 − Rate·Decay, if decoupled
	rate    float64 // Rate/(1 − Beta1ᵗ)
	scale   float64 // 1/√(1 − Beta2ᵗ)
}

// terms returns s's, or those by dials, without the steps that were left out.
func (s AdamSet) terms(by steered) adamTerms {
	dials := by.dials
	if dials == nil {
		own := s.Dials()
		dials = own[:]
	}
	rate, power1, power2 := dials[0], without(dials[1], s.Beta1, by.left), without(dials[2], s.Beta2, by.left)
	a := adamTerms{coupled: s.Decay, keep: 1, rate: rate / (1 - power1), scale: 1 / math.Sqrt(1-power2)}
	if s.Decoupled {
		a.coupled, a.keep = 0, 1-rate*s.Decay
	}
	return a
}

// without takes so many factors x out of a power of x.
func without(power, x, factors float64) float64 {
	if power == 0 {
		return 0
	}
	return power / math.Pow(x, factors)
}

// Dials returns what of s an update finds in its dials instead: Rate, Beta1ᵗ and Beta2ᵗ.
func (s AdamSet) Dials() [dialed]float64 {
	return [dialed]float64{s.Rate, math.Pow(s.Beta1, float64(s.Step)), math.Pow(s.Beta2, float64(s.Step))}
}
