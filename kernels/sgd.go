package kernels

// #include "loops.h"
// #cgo noescape h5k_sgd
// #cgo nocallback h5k_sgd
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// SGDSet is the settings of SGD, as in PyTorch with a dampening of 0.
type SGDSet struct {
	Rate, Momentum, Decay float64
	Nesterov              bool
}

// SGD updates parameters p by their gradient g: with d = g + Decay·p,
//
//	v ← Momentum·v + d
//	p ← p − Rate·v, or for Nesterov p − Rate·(d + Momentum·v)
//
// Its outputs are p and v, which starts at zero; without v, p ← p − Rate·d. Its
// inputs are g and, if there are more, dials and a guard: see steer.go.
var SGD = define("sgd",
	func(c *Call, set SGDSet) error {
		if len(c.Out) == 1 && set.Momentum != 0 {
			return fmt.Errorf("momentum %v needs a second output to live in: %w", set.Momentum, storage.ErrState)
		}
		return c.updates(1, 2)
	},
	func(c *Call, set SGDSet) error {
		set = set.dialed(c.dials())
		c.update(func(g float64, o []float64) {
			d := g + set.Decay*o[0]
			if len(o) == 2 {
				o[1] = set.Momentum*o[1] + d
				if set.Nesterov {
					d += set.Momentum * o[1]
				} else {
					d = o[1]
				}
			}
			o[0] -= set.Rate * d
		})
		return nil
	},
	func(c *Call, set SGDSet) (bool, error) {
		p, v, grad := &c.Out[0], &c.Out[len(c.Out)-1], &c.In[0]
		set = set.dialed(c.dials())
		if unscale, bad := c.guard(); bad || unscale != 1 {
			return bad, nil
		}
		real, ok := realOf(p.Type)
		var g grid
		n, fits := g.flat(p, v, grad)
		if !ok || !fits {
			return false, nil
		}
		if n == 0 {
			return true, nil
		}
		var momentum unsafe.Pointer
		if len(c.Out) == 2 {
			momentum = g.at(1, v)
		}
		var nesterov C.int
		if set.Nesterov {
			nesterov = 1
		}
		C.h5k_sgd(real, n, g.at(2, grad), g.at(0, p), momentum, C.double(set.Rate), C.double(set.Momentum), C.double(set.Decay), nesterov)
		return true, nil
	})

// Dials returns what of s an update finds in its dials instead: Rate, and nothing else.
func (s SGDSet) Dials() [dialed]float64 { return [dialed]float64{s.Rate} }

func (s SGDSet) dialed(dials []float64) SGDSet {
	if dials != nil {
		s.Rate = dials[0]
	}
	return s
}
