package nn

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// MultiStepOptions are the settings of a MultiStepSchedule.
type MultiStepOptions struct {
	Milestones []int   `json:"milestones"` // epochs of the decreases, in ascending order; required
	Gamma      float64 `json:"gamma"`      // factor of each; 0.1 if 0
}

// MultiStepSchedule multiplies the learning rate by Gamma at each milestone.
type MultiStepSchedule struct{ MultiStepOptions }

var multiStepDefaults = MultiStepOptions{Gamma: 0.1}

// NewMultiStepSchedule returns a multi-step schedule. Milestones are required.
func NewMultiStepSchedule(o MultiStepOptions) MultiStepSchedule {
	return newMultiStepSchedule(withDefaults(o, multiStepDefaults))
}

func newMultiStepSchedule(o MultiStepOptions) MultiStepSchedule {
	if len(o.Milestones) == 0 || !slices.IsSorted(o.Milestones) || o.Milestones[0] < 0 {
		tensor.Fail("multi_step", ErrConfig, "milestones %v; want epochs in ascending order", o.Milestones)
	}
	checkRange("multi_step", "gamma", o.Gamma, 0, infinity)
	return MultiStepSchedule{o}
}

// Factor returns Gamma to the power of the milestones so far.
func (s MultiStepSchedule) Factor(at Progress) float64 {
	n, _ := slices.BinarySearch(s.Milestones, int(math.Floor(at.Epoch))+1)
	return math.Pow(s.Gamma, float64(n))
}

var _ = RegisterSchedule("multi_step", newMultiStepSchedule, multiStepDefaults)
