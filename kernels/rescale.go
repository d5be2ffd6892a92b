package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// Losses of float16 are scaled up, so that small gradients are not lost, by as
// much as keeps large ones finite (Micikevicius et al., arXiv:1710.03740). The
// state of that is a guard: see SGD.

// NewGuard is a guard to begin with.
func NewGuard() []float32 { return []float32{guardScale: 1 << 16, guardLeft: 0} }

// GuardIsStuck reports whether a guard is bad between steps, as Rescale leaves it
// where there is no smaller scale. It waits for the guard's device.
func GuardIsStuck(guard storage.Array) (bool, error) {
	state, err := storage.Read[float32](guard)
	return err == nil && state[guardBad] != 0, err
}

// Flag marks a guard, its output, as bad where an element of its inputs, gradients,
// is infinite or NaN; else it leaves the guard as it is.
var Flag = define("flag",
	func(c *Call, _ struct{}) error {
		if err := c.holds(1, len(c.In)); err != nil {
			return err
		}
		for i := range c.In {
			if err := allFloats(c.In[i]); err != nil {
				return err
			}
		}
		return inARow(&c.Out[0], dtype.Float32, guardSize)
	},
	func(c *Call, _ struct{}) error {
		var elems [block]float64
		for k := range c.In {
			blocks(func(at, step []int, n int) {
				load(elems[:n], &c.In[k], at[0], step[0])
				for _, x := range elems[:n] {
					if math.IsInf(x, 0) || math.IsNaN(x) {
						guarded(&c.Out[0])[guardBad] = 1
					}
				}
			}, c.In[k])
		}
		return nil
	}, nil)

// RescaleSet is the settings of Rescale.
type RescaleSet struct {
	Patience int // good steps until the scale is doubled
}

// A scale is never doubled beyond the largest, nor halved below the smallest, the least
// of which the reciprocal is a float32 too.
const (
	largestScale  = 1 << 30
	smallestScale = 0x1p-126
)

// Rescale ends a step: of a guard that is bad it halves the scale, takes the mark
// away and counts a step that was left out; after so many good steps in a row it
// doubles the scale. A guard that is bad at the smallest scale stays bad.
var Rescale = define("rescale",
	func(c *Call, set RescaleSet) error {
		if err := c.holds(1, 0); err != nil {
			return err
		}
		if set.Patience < 1 {
			return fmt.Errorf("patience %d; want at least 1: %w", set.Patience, storage.ErrState)
		}
		return inARow(&c.Out[0], dtype.Float32, guardSize)
	},
	func(c *Call, set RescaleSet) error {
		g := guarded(&c.Out[0])
		if g[guardBad] != 0 {
			g[guardGood] = 0
			g[guardLeft]++
			if half := g[guardScale] / 2; half >= smallestScale {
				g[guardScale], g[guardBad] = half, 0
			}
			return nil
		}
		if g[guardGood]++; int(g[guardGood]) >= set.Patience {
			g[guardScale], g[guardGood] = min(2*g[guardScale], largestScale), 0
		}
		return nil
	}, nil)
