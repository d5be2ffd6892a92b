package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// Loss scaling multiplies the loss of float16 models, so that small gradients do not
// underflow, by as much as keeps large ones finite (Micikevicius et al., arXiv:1710.03740).
// step_inputs.go describes the scaler's state.

// NewScalerState returns the initial state of a loss scaler.
func NewScalerState() []float32 { return []float32{scalerScale: 1 << 16, scalerSkipped: 0} }

// ScalerIsStuck reports whether the found-inf flag is set at the smallest scale, where UpdateScale leaves it. At
// others it may be set between the batches of one update. It waits for the scaler's device.
func ScalerIsStuck(scaler storage.Array) (bool, error) {
	state, err := storage.Read[float32](scaler)
	return err == nil && state[scalerFoundInf] != 0 && state[scalerScale]/2 < smallestScale, err
}

// FindInf sets the found-inf flag of a scaler, its output, if an element of its inputs,
// the gradients, is infinite or NaN. Otherwise it leaves the scaler unchanged.
var FindInf = define("find inf",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(1, len(c.In)); err != nil {
			return err
		}
		for i := range c.In {
			if err := allFloats(c.In[i]); err != nil {
				return err
			}
		}
		return checkVector(&c.Out[0], dtype.Float32, scalerSize)
	},
	func(c *Call, _ struct{}) error {
		var elems [block]float64
		for k := range c.In {
			blocks(func(at, step []int, n int) {
				load(elems[:n], &c.In[k], at[0], step[0])
				for _, x := range elems[:n] {
					if math.IsInf(x, 0) || math.IsNaN(x) {
						scalerState(&c.Out[0])[scalerFoundInf] = 1
					}
				}
			}, c.In[k])
		}
		return nil
	}, nil)

// UpdateScaleOptions are the options of UpdateScale.
type UpdateScaleOptions struct {
	GrowthInterval int // steps without infinities until the scale is doubled
}

// The bounds of the scale. The smallest is the least whose reciprocal is a float32.
const (
	largestScale  = 1 << 30
	smallestScale = 0x1p-126
)

// UpdateScale ends a step. If the found-inf flag is set, it halves the scale, clears the
// flag and counts a skipped step; after GrowthInterval steps without infinities it doubles the
// scale. At the smallest scale the flag stays set.
var UpdateScale = define("update scale",
	func(c *Call, options UpdateScaleOptions) error {
		if err := c.checkOperands(1, 0); err != nil {
			return err
		}
		if options.GrowthInterval < 1 {
			return fmt.Errorf("growth interval %d; want at least 1: %w", options.GrowthInterval, storage.ErrState)
		}
		return checkVector(&c.Out[0], dtype.Float32, scalerSize)
	},
	func(c *Call, options UpdateScaleOptions) error {
		g := scalerState(&c.Out[0])
		if g[scalerFoundInf] != 0 {
			g[scalerGrowth] = 0
			g[scalerSkipped]++
			if half := g[scalerScale] / 2; half >= smallestScale {
				g[scalerScale], g[scalerFoundInf] = half, 0
			}
			return nil
		}
		if g[scalerGrowth]++; int(g[scalerGrowth]) >= options.GrowthInterval {
			g[scalerScale], g[scalerGrowth] = min(2*g[scalerScale], largestScale), 0
		}
		return nil
	}, nil)
