package nn

// A Schedule varies the learning rate during training.
type Schedule interface {
	// Factor returns what to multiply the initial learning rate by.
	Factor(at Progress) float64
}

// Progress is a point in training.
type Progress struct {
	Epoch         float64 // epochs completed, the current one as a fraction
	Epochs        float64 // in all
	StepsPerEpoch float64 // updates in an epoch; 0 if unknown
}

// Done returns the completed share of training, from 0 to 1.
func (p Progress) Done() float64 { return min(1, p.Epoch/p.Epochs) }

// after returns the progress since a number of epochs, in what remains of training.
func (p Progress) after(epochs float64) Progress {
	p.Epoch, p.Epochs = max(0, p.Epoch-epochs), p.Epochs-epochs
	return p
}

var schedules = factory[Schedule]{kind: "schedule"}

// RegisterSchedule makes schedules available to configurations, as RegisterLayer
// does for layers.
func RegisterSchedule[S any, T Schedule](name string, make func(settings S) T, defaults S) bool {
	return register(&schedules, name, make, defaults)
}

// ScheduleFromConfig builds the schedule that description describes: "cosine" or
// {"warmup": {"epochs": 1, "then": "cosine"}}.
func ScheduleFromConfig(description any) (Schedule, error) { return schedules.fromConfig(description) }

// DescribeSchedule returns the settings of s as ScheduleFromConfig reads them.
func DescribeSchedule(s Schedule) (any, error) { return schedules.describe(s) }
