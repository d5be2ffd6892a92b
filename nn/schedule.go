package nn

import (
	"maps"
	"math"
	"slices"
)

// A Schedule says what part of the learning rate to use where a share of
// training, from 0 to 1, is done.
type Schedule func(done float64) float64

// schedules by their names in configurations.
var schedules = map[string]Schedule{
	"constant": ConstantRate,
	"linear":   LinearRate,
	"cosine":   CosineRate,
}

// ScheduleByName returns the schedule that configurations call name: constant,
// linear or cosine.
func ScheduleByName(name string) (Schedule, error) {
	if s, ok := schedules[name]; ok {
		return s, nil
	}
	return nil, at(name, unknown("schedule", name, slices.Sorted(maps.Keys(schedules))))
}

// ConstantRate uses all of the learning rate all the time.
func ConstantRate(float64) float64 { return 1 }

// LinearRate goes from all of the learning rate to none in equal steps.
func LinearRate(done float64) float64 { return 1 - done }

// CosineRate goes from all of the learning rate to none along half a cosine
// (Loshchilov and Hutter, arXiv:1608.03983, without restarts).
func CosineRate(done float64) float64 { return (1 + math.Cos(math.Pi*done)) / 2 }
