package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// StepScheduleOptions are the settings of a StepSchedule.
type StepScheduleOptions struct {
	StepSize int     `json:"step_size"`       // epochs between decreases; required
	Gamma    float64 `json:"gamma,omitempty"` // factor of each; 0.1 if 0
}

// StepSchedule multiplies the learning rate by Gamma every StepSize epochs.
type StepSchedule struct{ StepScheduleOptions }

var stepDefaults = StepScheduleOptions{Gamma: 0.1}

// NewStepSchedule returns a step schedule. StepSize is required.
func NewStepSchedule(o StepScheduleOptions) StepSchedule {
	return newStepSchedule(withDefaults(o, stepDefaults))
}

func newStepSchedule(o StepScheduleOptions) StepSchedule {
	if o.StepSize < 1 {
		tensor.Fail("step", ErrConfig, "step_size %d; want at least 1 epoch", o.StepSize)
	}
	checkRange("step", "gamma", o.Gamma, 0, infinity)
	return StepSchedule{o}
}

// Factor returns Gamma to the power of the decreases so far.
func (s StepSchedule) Factor(at Progress) float64 {
	return math.Pow(s.Gamma, math.Floor(math.Floor(at.Epoch)/float64(s.StepSize)))
}

var _ = RegisterSchedule("step", newStepSchedule, stepDefaults)
