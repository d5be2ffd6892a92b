package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// AdamOptions are the options of Adam.
type AdamOptions struct {
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
// Its outputs are p, and m and v, which start at zero, of each parameter; update.go
// describes its inputs. Steps that a loss scaler skipped do not count in t.
var Adam = updatesInPlace(define("adam",
	func(c *Call, options AdamOptions) error {
		if options.Step < 1 {
			return fmt.Errorf("step %d; steps count from 1: %w", options.Step, storage.ErrState)
		}
		return c.updates(adamArrays)
	},
	func(c *Call, options AdamOptions) error {
		by := stepInputsOf(c.In[len(c.Out)/adamArrays:])
		for i := range len(c.Out) / adamArrays {
			out, g := c.parameter(i, adamArrays)
			options.reference(out, g, by)
		}
		return nil
	},
	func(c *Call, options AdamOptions) (bool, error) {
		by := stepInputsOf(c.In[len(c.Out)/adamArrays:])
		for i := range len(c.Out) / adamArrays {
			out, g := c.parameter(i, adamArrays)
			if !options.optimized(out, g, by) {
				options.reference(out, g, by)
			}
		}
		return true, nil
	}))

const adamArrays = 3

func (s AdamOptions) reference(out []storage.Array, grad *storage.Array, by stepInputs) {
	if by.foundInf {
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

// optimized reports false for updates it leaves to reference.
func (s AdamOptions) optimized(out []storage.Array, grad *storage.Array, by stepInputs) bool {
	p, m, v := &out[0], &out[1], &out[2]
	real, ok := native.ComputeTypeOf(p.Type)
	var g native.Grid
	n, fits := g.Flat(&p.View, &m.View, &v.View, &grad.View)
	if !ok || !fits || by.foundInf || by.unscale != 1 {
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

// adamTerms are the terms that all elements share.
type adamTerms struct {
	coupled float64 // Decay, unless decoupled
	keep    float64 // 1 − Rate·Decay, if decoupled
	rate    float64 // Rate/(1 − Beta1ᵗ)
	scale   float64 // 1/√(1 − Beta2ᵗ)
}

// terms returns the terms of s, or of the hyperparameters in memory, without the skipped steps.
func (s AdamOptions) terms(by stepInputs) adamTerms {
	hyper := by.hyper
	if hyper == nil {
		own := s.Hyperparameters()
		hyper = own[:]
	}
	rate, power1, power2 := hyper[0], without(hyper[1], s.Beta1, by.skipped), without(hyper[2], s.Beta2, by.skipped)
	a := adamTerms{coupled: s.Decay, keep: 1, rate: rate / (1 - power1), scale: 1 / math.Sqrt(1-power2)}
	if s.Decoupled {
		a.coupled, a.keep = 0, 1-rate*s.Decay
	}
	return a
}

// without divides a power of x by x^factors.
func without(power, x, factors float64) float64 {
	if power == 0 {
		return 0
	}
	return power / math.Pow(x, factors)
}

// Hyperparameters returns the options that an update reads from its first step input: Rate, Beta1ᵗ and Beta2ᵗ.
func (s AdamOptions) Hyperparameters() [hyperparameters]float64 {
	return [hyperparameters]float64{s.Rate, math.Pow(s.Beta1, float64(s.Step)), math.Pow(s.Beta2, float64(s.Step))}
}
