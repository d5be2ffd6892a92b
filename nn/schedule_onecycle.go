package nn

import (
	"cmp"
	"math"
)

// OneCycleOptions are the settings of a OneCycleSchedule.
type OneCycleOptions struct {
	PctStart       float64 `json:"pct_start"`        // share of training in which the rate increases; 0.3 if 0
	DivFactor      float64 `json:"div_factor"`       // the rate begins at 1/DivFactor; 25 if 0
	FinalDivFactor float64 `json:"final_div_factor"` // and ends at 1/(DivFactor·FinalDivFactor); 1e4 if 0
}

// OneCycleSchedule increases the learning rate to the optimizer's and decreases it
// again, both along half a cosine (Smith and Topin, arXiv:1708.07120, with the
// settings of PyTorch's OneCycleLR; the momentum stays).
type OneCycleSchedule struct{ OneCycleOptions }

var oneCycleDefaults = OneCycleOptions{PctStart: 0.3, DivFactor: 25, FinalDivFactor: 1e4}

// NewOneCycleSchedule returns a one-cycle schedule.
func NewOneCycleSchedule(o OneCycleOptions) OneCycleSchedule {
	return newOneCycleSchedule(withDefaults(o, oneCycleDefaults))
}

func newOneCycleSchedule(o OneCycleOptions) OneCycleSchedule {
	checkRange("one_cycle", "pct_start", o.PctStart, 0, 1)
	checkRange("one_cycle", "div_factor", o.DivFactor, math.SmallestNonzeroFloat64, infinity)
	checkRange("one_cycle", "final_div_factor", o.FinalDivFactor, math.SmallestNonzeroFloat64, infinity)
	return OneCycleSchedule{o}
}

// Factor returns 1 at the step PctStart·steps − 1, as PyTorch, and less before and after. The last step has the
// end of the schedule. If the number of steps is not known, a step is a small part of training.
func (s OneCycleSchedule) Factor(at Progress) float64 {
	low, step, last, peak := 1/cmp.Or(s.DivFactor, oneCycleDefaults.DivFactor), at.Epoch, at.Epochs, s.PctStart*at.Epochs
	if at.StepsPerEpoch > 0 { // the last step of an epoch may have fewer samples
		n := math.Ceil(at.StepsPerEpoch)
		epochs, part := math.Modf(at.Epoch)
		step, last, peak = epochs*n+math.Round(part*at.StepsPerEpoch), last*n-1, peak*n-1
	}
	if step < peak {
		return cosineBetween(low, 1, step/peak)
	}
	return cosineBetween(1, low/cmp.Or(s.FinalDivFactor, oneCycleDefaults.FinalDivFactor), min(1, (step-peak)/(last-peak)))
}

// cosineBetween goes from a to b along half a cosine, as t goes from 0 to 1.
func cosineBetween(a, b, t float64) float64 { return b + (a-b)*(1+math.Cos(math.Pi*t))/2 }

var _ = RegisterSchedule("one_cycle", newOneCycleSchedule, oneCycleDefaults)
