package augment

import (
	"math"
)

// TimeShiftOptions are the settings of a TimeShift.
type TimeShiftOptions struct {
	Shift Range   `json:"shift"`          // samples later, rounded; a number v is -v to v
	Wrap  bool    `json:"wrap,omitempty"` // what leaves one end comes in at the other
	Fill  float64 `json:"fill,omitempty"` // what comes in otherwise
	P     float64 `json:"p"`              // probability; 1 if absent
}

// TimeShift moves signals in time, all channels alike.
type TimeShift struct {
	only
	chance
	TimeShiftOptions
}

// NewTimeShift returns a shift.
func NewTimeShift(o TimeShiftOptions) *TimeShift {
	orDefault(&o.P, 1)
	return newTimeShift(o)
}

func newTimeShift(o TimeShiftOptions) *TimeShift {
	o.Shift.check("time_shift", "shift", 0, -1<<40, 1<<40)
	checkProbability("time_shift", o.P)
	return &TimeShift{only(Signal), chance(o.P), o}
}

// Apply shifts a sample.
func (a *TimeShift) Apply(to, from Sample, r *Random) error {
	shift := int(math.Round(a.Shift.draw(r, 0)))
	return eachChannel(to, from, func(_ int, dst, src signal) {
		n := src.len()
		for i := range n {
			switch k := i - shift; {
			case k >= 0 && k < n:
				dst.set(i, src.at(k))
			case a.Wrap:
				dst.set(i, src.at((k%n+n)%n))
			default:
				dst.set(i, a.Fill)
			}
		}
	})
}

var _ = Register("time_shift", newTimeShift, TimeShiftOptions{P: 1})
