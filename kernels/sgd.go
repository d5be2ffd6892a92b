package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// SGDSet is the settings of SGD, as in PyTorch with a dampening of 0.
type SGDSet struct {
	Rate, Momentum, Decay float64
	Nesterov              bool
}

// SGD updates parameters p by their gradients g: with d = g + Decay·p,
//
//	v ← Momentum·v + d
//	p ← p − Rate·v, or for Nesterov p − Rate·(d + Momentum·v)
//
// Its outputs are p and v, which starts at zero, of each parameter; without
// Momentum there is no v, and p ← p − Rate·d. Its inputs are said in update.go.
var SGD = define("sgd",
	func(c *Call, set SGDSet) error {
		if len(c.Out) == 1 && set.Momentum != 0 {
			return fmt.Errorf("momentum %v needs a second output to live in: %w", set.Momentum, storage.ErrState)
		}
		return c.updates(set.arrays())
	},
	func(c *Call, set SGDSet) error {
		by := steeredBy(c.In[len(c.Out)/set.arrays():])
		for i := range len(c.Out) / set.arrays() {
			out, g := c.parameter(i, set.arrays())
			set.dialed(by.dials).plain(out, g, by)
		}
		return nil
	},
	func(c *Call, set SGDSet) (bool, error) {
		by := steeredBy(c.In[len(c.Out)/set.arrays():])
		for i := range len(c.Out) / set.arrays() {
			out, g := c.parameter(i, set.arrays())
			if told := set.dialed(by.dials); !told.fast(out, g, by) {
				told.plain(out, g, by)
			}
		}
		return true, nil
	})

// arrays returns how many a parameter is.
func (s SGDSet) arrays() int {
	if s.Momentum != 0 {
		return 2
	}
	return 1
}

func (s SGDSet) plain(out []storage.Array, grad *storage.Array, by steered) {
	if by.bad {
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

// fast reports false for what it leaves to plain.
func (s SGDSet) fast(out []storage.Array, grad *storage.Array, by steered) bool {
	p, v := &out[0], &out[len(out)-1]
	real, ok := native.RealOf(p.Type)
	var g native.Grid
	n, fits := g.Flat(&p.View, &v.View, &grad.View)
	if !ok || !fits || by.bad || by.unscale != 1 {
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

// Dials returns what of s an update finds in its dials instead: Rate, and nothing else.
func (s SGDSet) Dials() [dialed]float64 { return [dialed]float64{s.Rate} }

func (s SGDSet) dialed(dials []float64) SGDSet {
	if dials != nil {
		s.Rate = dials[0]
	}
	return s
}
