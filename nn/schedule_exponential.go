package nn

import "math"

// ExponentialScheduleOptions are the settings of an ExponentialSchedule.
type ExponentialScheduleOptions struct {
	Gamma float64 `json:"gamma"` // factor of each epoch; required
}

// ExponentialSchedule multiplies the learning rate by Gamma every epoch.
type ExponentialSchedule struct{ ExponentialScheduleOptions }

// NewExponentialSchedule returns an exponential schedule. Gamma is required.
func NewExponentialSchedule(o ExponentialScheduleOptions) ExponentialSchedule {
	checkRange("exponential", "gamma", o.Gamma, math.SmallestNonzeroFloat64, infinity)
	return ExponentialSchedule{o}
}

// Factor returns Gamma to the power of the completed epochs.
func (s ExponentialSchedule) Factor(at Progress) float64 {
	return math.Pow(s.Gamma, math.Floor(at.Epoch))
}

var _ = RegisterSchedule("exponential", NewExponentialSchedule, ExponentialScheduleOptions{})
