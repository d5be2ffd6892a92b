package nn

import (
	"iter"
	"math"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
)

// PlateauOptions are the settings of a PlateauSchedule.
type PlateauOptions struct {
	Gamma     float64 `json:"gamma"`     // factor of each decrease; 0.1 if 0
	Patience  int     `json:"patience"`  // epochs without improvement before a decrease; 10 if 0
	Threshold float64 `json:"threshold"` // relative decrease of the loss that counts as one; 1e-4 if 0
	Cooldown  int     `json:"cooldown"`  // epochs after a decrease that do not count
	End       float64 `json:"end"`       // least factor
}

// PlateauSchedule multiplies the learning rate by Gamma when the loss of the epochs
// has stopped decreasing, as PyTorch's ReduceLROnPlateau.
type PlateauSchedule struct {
	PlateauOptions
	factor   float64
	best     float64 // loss
	bad      float64 // epochs since
	cooldown float64 // epochs to go
}

var plateauDefaults = PlateauOptions{Gamma: 0.1, Patience: 10, Threshold: 1e-4}

// NewPlateauSchedule returns a schedule that follows the loss.
func NewPlateauSchedule(o PlateauOptions) *PlateauSchedule {
	return newPlateauSchedule(withDefaults(o, plateauDefaults))
}

func newPlateauSchedule(o PlateauOptions) *PlateauSchedule {
	checkRange("plateau", "gamma", o.Gamma, 0, 1)
	checkRange("plateau", "patience", float64(o.Patience), 0, infinity)
	checkRange("plateau", "threshold", o.Threshold, 0, 1)
	checkRange("plateau", "cooldown", float64(o.Cooldown), 0, infinity)
	checkRange("plateau", "end", o.End, 0, infinity)
	return &PlateauSchedule{PlateauOptions: o, factor: 1, best: math.Inf(1)}
}

// Factor returns Gamma to the power of the decreases so far, at least End.
func (s *PlateauSchedule) Factor(Progress) float64 { return s.factor }

// EndEpoch takes note of the loss of an epoch.
func (s *PlateauSchedule) EndEpoch(loss float64) {
	if loss < s.best*(1-s.Threshold) {
		s.best, s.bad = loss, 0
	} else {
		s.bad++
	}
	if s.cooldown > 0 {
		s.cooldown--
		s.bad = 0
	}
	if s.bad > float64(s.Patience) {
		s.factor, s.bad, s.cooldown = max(s.End, s.factor*s.Gamma), 0, float64(s.Cooldown)
	}
}

// State yields the factor, the best loss and the counts of epochs.
func (s *PlateauSchedule) State() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		yield("plateau", storage.From([]float64{s.factor, s.best, s.bad, s.cooldown}, 4))
	}
}

// Load replaces the state.
func (s *PlateauSchedule) Load(state iter.Seq2[string, storage.Array]) error {
	for name, a := range state {
		values, err := storage.Read[float64](a)
		if err != nil {
			return err
		}
		if name != "plateau" || len(values) != 4 {
			return errkind.Errorf(storage.ErrState, "load schedule: %s of %d numbers; want plateau of 4", name, len(values))
		}
		s.factor, s.best, s.bad, s.cooldown = values[0], values[1], values[2], values[3]
		return nil
	}
	return errkind.Errorf(storage.ErrState, "load schedule: no state of plateau")
}

var _ = RegisterSchedule("plateau", newPlateauSchedule, plateauDefaults)

var _ EpochObserver = (*PlateauSchedule)(nil)

var _ Stateful = (*PlateauSchedule)(nil)
