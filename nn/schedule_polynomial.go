package nn

import "math"

// PolynomialOptions are the settings of a PolynomialSchedule.
type PolynomialOptions struct {
	Power float64 `json:"power"`         // 1 if 0
	End   float64 `json:"end,omitempty"` // factor at the end of training
}

// PolynomialSchedule decreases the learning rate to End times itself as the remaining share of training to the power of Power.
type PolynomialSchedule struct{ PolynomialOptions }

var polynomialDefaults = PolynomialOptions{Power: 1}

// NewPolynomialSchedule returns a polynomial schedule.
func NewPolynomialSchedule(o PolynomialOptions) PolynomialSchedule {
	return newPolynomialSchedule(withDefaults(o, polynomialDefaults))
}

func newPolynomialSchedule(o PolynomialOptions) PolynomialSchedule {
	checkRange("polynomial", "power", o.Power, math.SmallestNonzeroFloat64, infinity)
	checkRange("polynomial", "end", o.End, 0, infinity)
	return PolynomialSchedule{o}
}

// Factor returns 1 at the beginning and End at the end.
func (s PolynomialSchedule) Factor(at Progress) float64 {
	return s.End + (1-s.End)*math.Pow(1-at.Done(), s.Power)
}

var _ = RegisterSchedule("polynomial", newPolynomialSchedule, polynomialDefaults)
