package nn

import (
	"encoding/json"

	"github.com/h5dnn/h5dnn/tensor"
)

// WarmupOptions are the settings of a WarmupSchedule. Either Epochs or Steps is
// required.
type WarmupOptions struct {
	Epochs float64         `json:"epochs,omitempty"` // length, or:
	Steps  int             `json:"steps,omitempty"`  // updates
	Start  float64         `json:"start,omitempty"`  // factor at the beginning
	Then   ScheduleSetting `json:"then"`             // cosine if absent
}

// WarmupSchedule increases the learning rate in equal steps from Start times itself
// and then follows another schedule through the rest of training.
type WarmupSchedule struct{ WarmupOptions }

// A ScheduleSetting is a schedule as a setting of another.
type ScheduleSetting struct{ Schedule }

// UnmarshalJSON builds the schedule that text describes.
func (s *ScheduleSetting) UnmarshalJSON(text []byte) (err error) {
	s.Schedule, err = schedules.build(text, nil)
	return err
}

// MarshalJSON describes the schedule.
func (s ScheduleSetting) MarshalJSON() ([]byte, error) {
	description, err := schedules.describe(s.Schedule)
	if err != nil {
		return nil, err
	}
	return json.Marshal(description)
}

// NewWarmupSchedule returns a schedule that warms up.
func NewWarmupSchedule(o WarmupOptions) WarmupSchedule {
	if (o.Epochs > 0) == (o.Steps > 0) || o.Epochs < 0 || o.Steps < 0 {
		tensor.Fail("warmup", ErrConfig, "epochs %v and steps %d; want one of them above 0", o.Epochs, o.Steps)
	}
	checkRange("warmup", "start", o.Start, 0, infinity)
	if o.Then.Schedule == nil {
		o.Then.Schedule = NewCosineSchedule(DecayOptions{})
	}
	return WarmupSchedule{o}
}

// Factor returns Start at the beginning and 1 at the end of the warm-up.
func (s WarmupSchedule) Factor(at Progress) float64 {
	length := s.Epochs
	if s.Steps > 0 {
		length = float64(s.Steps) / max(1, at.StepsPerEpoch)
	}
	if at.Epoch < length {
		return s.Start + (1-s.Start)*at.Epoch/length
	}
	if s.Then.Schedule == nil {
		return 1
	}
	return s.Then.Factor(at.after(length))
}

var _ = RegisterSchedule("warmup", NewWarmupSchedule, WarmupOptions{})
