package nn

// ConstantSchedule keeps the initial learning rate.
type ConstantSchedule struct{}

// Factor returns 1.
func (ConstantSchedule) Factor(Progress) float64 { return 1 }

// Config returns no settings.
func (ConstantSchedule) Config() any { return struct{}{} }

var _ = RegisterSchedule("constant", func(struct{}) ConstantSchedule { return ConstantSchedule{} }, struct{}{})
