package nn

// ConstantSchedule keeps the initial learning rate.
type ConstantSchedule struct{}

// Factor returns 1.
func (ConstantSchedule) Factor(Progress) float64 { return 1 }

var _ = registerPlain[ConstantSchedule](&schedules, "constant")
