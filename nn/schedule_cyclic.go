package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// CyclicOptions are the settings of a CyclicSchedule.
type CyclicOptions struct {
	Base  float64 `json:"base"`            // least factor; 0.1 if 0
	Up    float64 `json:"up"`              // epochs in which the rate increases to the optimizer's; 2 if 0
	Down  float64 `json:"down,omitempty"`  // epochs in which it decreases; as many as up if 0
	Mode  string  `json:"mode"`            // triangular, triangular2 (each cycle half as high) or exp_range; triangular if empty
	Gamma float64 `json:"gamma,omitempty"` // of exp_range: the height is multiplied by it with each epoch; 1 if 0
}

// CyclicSchedule moves the learning rate between Base times itself and itself in straight lines (Smith, arXiv:1506.01186), with
// the modes of PyTorch's CyclicLR.
type CyclicSchedule struct{ CyclicOptions }

var cyclicDefaults = CyclicOptions{Base: 0.1, Up: 2, Mode: "triangular", Gamma: 1}

// NewCyclicSchedule returns a cyclic schedule.
func NewCyclicSchedule(o CyclicOptions) CyclicSchedule {
	return newCyclicSchedule(withDefaults(o, cyclicDefaults))
}

func newCyclicSchedule(o CyclicOptions) CyclicSchedule {
	checkRange("cyclic", "base", o.Base, 0, infinity)
	checkRange("cyclic", "up", o.Up, math.SmallestNonzeroFloat64, infinity)
	checkRange("cyclic", "down", o.Down, 0, infinity)
	checkRange("cyclic", "gamma", o.Gamma, math.SmallestNonzeroFloat64, infinity)
	switch o.Mode {
	case "triangular", "triangular2", "exp_range":
	default:
		tensor.Fail("cyclic", ErrConfig, "mode %q; want triangular, triangular2 or exp_range", o.Mode)
	}
	return CyclicSchedule{o}
}

// Factor returns Base at the beginning of a cycle and after it.
func (s CyclicSchedule) Factor(at Progress) float64 {
	down := s.Down
	if down == 0 {
		down = s.Up
	}
	cycle := math.Floor(at.Epoch / (s.Up + down))
	t := at.Epoch - cycle*(s.Up+down)
	height := t / s.Up
	if t > s.Up {
		height = 1 - (t-s.Up)/down
	}
	switch s.Mode {
	case "triangular2":
		height *= math.Pow(0.5, cycle)
	case "exp_range":
		height *= math.Pow(s.Gamma, at.Epoch)
	}
	return s.Base + (1-s.Base)*height
}

var _ = RegisterSchedule("cyclic", newCyclicSchedule, cyclicDefaults)
