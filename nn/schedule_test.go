package nn

import (
	"errors"
	"math"
	"testing"
)

// TestSchedulesGoFromAllDownwards holds every schedule to what training relies on.
func TestSchedulesGoFromAllDownwards(t *testing.T) {
	for name, part := range schedules {
		last := part(0)
		if last != 1 {
			t.Errorf("%s begins at %v of the rate, want 1", name, last)
		}
		for done := 0.0; done <= 1; done += 1.0 / 64 {
			if now := part(done); !(now >= 0 && now <= last) {
				t.Errorf("%s: %v at %v, after %v", name, now, done, last)
			} else {
				last = now
			}
		}
	}
	for name, want := range map[string]float64{"constant": 1, "linear": 0.75, "cosine": (1 + math.Sqrt2/2) / 2} {
		if part, err := ScheduleByName(name); err != nil || math.Abs(part(0.25)-want) > 1e-15 {
			t.Errorf("%s at a quarter: %v (%v), want %v", name, part(0.25), err, want)
		}
	}
	if _, err := ScheduleByName("cosin"); !errors.Is(err, ErrConfig) {
		t.Errorf("unknown schedule: error %v, want one of kind %v", err, ErrConfig)
	}
}
