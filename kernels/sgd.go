package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// SGDOptions are the options of SGD, as in PyTorch with a dampening of 0.
type SGDOptions struct {
	Rate, Momentum, Decay float64
	Nesterov              bool
}

// SGD updates parameters p by their gradients g: with d = g + Decay·p,
//
//	v ← Momentum·v + d
//	p ← p − Rate·v, or for Nesterov p − Rate·(d + Momentum·v)
//
// Its outputs are p and v, which starts at zero, of each parameter; without
// Momentum there is no v, and p ← p − Rate·d. update.go describes its inputs.
var SGD = updatesInPlace(define("sgd",
	func(c *Call, options SGDOptions) error {
		if len(c.Out) == 1 && options.Momentum != 0 {
			return fmt.Errorf("momentum %v needs a second output for its buffer: %w", options.Momentum, storage.ErrState)
		}
		return c.updates(options.arrays())
	},
	func(c *Call, options SGDOptions) error {
		by := stepInputsOf(c.In[len(c.Out)/options.arrays():])
		for i := range len(c.Out) / options.arrays() {
			out, g := c.parameter(i, options.arrays())
			options.withHyper(by.hyper).reference(out, g, by)
		}
		return nil
	},
	func(c *Call, options SGDOptions) (bool, error) {
		by := stepInputsOf(c.In[len(c.Out)/options.arrays():])
		for i := range len(c.Out) / options.arrays() {
			out, g := c.parameter(i, options.arrays())
			if updated := options.withHyper(by.hyper); !updated.optimized(out, g, by) {
				updated.reference(out, g, by)
			}
		}
		return true, nil
	}))

// arrays returns the number of outputs for each parameter.
func (s SGDOptions) arrays() int {
	if s.Momentum != 0 {
		return 2
	}
	return 1
}

func (s SGDOptions) reference(out []storage.Array, grad *storage.Array, by stepInputs) {
	if by.foundInf {
		return
	}
	update(out, grad, by.unscale, func(g float64, o []float64) {
		d := g + s.Decay*o[0]
		if len(o) == 2 {
			o[1] = s.Momentum*o[1] + d
			if s.Nesterov {
				d += s.Momentum * o[1]
			} else {
				d = o[1]
			}
		}
		o[0] -= s.Rate * d
	})
}

// optimized reports false for updates it leaves to reference.
func (s SGDOptions) optimized(out []storage.Array, grad *storage.Array, by stepInputs) bool {
	p, v := &out[0], &out[len(out)-1]
	real, ok := native.ComputeTypeOf(p.Type)
	var g native.Grid
	n, fits := g.Flat(&p.View, &v.View, &grad.View)
	if !ok || !fits || by.foundInf || by.unscale != 1 {
		return false
	}
	if n == 0 {
		return true
	}
	var momentum []byte
	if len(out) == 2 {
		momentum = at(&g, 1, v)
	}
	native.SGD(real, n, at(&g, 2, grad), at(&g, 0, p), momentum, s.Rate, s.Momentum, s.Decay, s.Nesterov)
	return true
}

// Hyperparameters returns the options that an update reads from its first step input: Rate.
func (s SGDOptions) Hyperparameters() [hyperparameters]float64 {
	return [hyperparameters]float64{s.Rate}
}

func (s SGDOptions) withHyper(hyper []float64) SGDOptions {
	if hyper != nil {
		s.Rate = hyper[0]
	}
	return s
}
