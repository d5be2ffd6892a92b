package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TallySet is the settings of Tally: how many samples a step's loss is the mean of.
type TallySet struct{ Samples int }

// A Tally's output is float64 (4), which it adds a step to.
const (
	TallyLoss  = iota // the sum of all samples' losses
	TallyHits         // of hits
	TallySteps        // how many there were
	TallyBad          // the first step whose loss was not finite, from 1; 0 if there was none
	TallySize
)

// Tally adds up what steps give: their loss, a single float, and where there is
// a second input, their hits, a single int64.
var Tally = define("tally",
	func(c *Call, _ TallySet) error {
		if err := c.holds(1, max(1, min(len(c.In), 2))); err != nil {
			return err
		}
		if err := inARow(&c.Out[0], dtype.Float64, TallySize); err != nil {
			return err
		}
		if err := allFloats(c.In[0]); err != nil {
			return err
		}
		for i, a := range c.In {
			if a.Len() != 1 || i == 1 && a.Type != dtype.Int64 {
				return fmt.Errorf("input %d is %v%v; want a single float, and int64: %w", i, a.Type, a.Shape, views.ErrShape)
			}
		}
		return nil
	},
	func(c *Call, set TallySet) error {
		sums, loss, hits := storage.Elements[float64](c.Out[0])[c.Out[0].Offset:], []float64{0}, []int64{0}
		load(loss, &c.In[0], c.In[0].Offset, 0)
		if len(c.In) > 1 {
			load(hits, &c.In[1], c.In[1].Offset, 0)
		}
		sums[TallyLoss] += float64(loss[0] * float64(set.Samples))
		sums[TallyHits] += float64(hits[0])
		sums[TallySteps]++
		if sums[TallyBad] == 0 && (math.IsNaN(loss[0]) || math.IsInf(loss[0], 0)) {
			sums[TallyBad] = sums[TallySteps]
		}
		return nil
	}, nil)
