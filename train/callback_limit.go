package train

import (
	"time"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// LimitOptions are the settings of a [Limit].
type LimitOptions struct {
	Minutes float64 `json:"minutes"` // since training began or was resumed; no limit if 0
	Steps   int     `json:"steps"`   // after each multiple of this number; no limit if 0
	Epochs  int     `json:"epochs"`  // after each multiple of this number; no limit if 0
}

// Limit pauses training: the run is saved, and goes on to the next limit when it is resumed. The number of epochs of the
// run, which schedules of the learning rate follow, stays the same.
type Limit struct {
	OnlyProgress
	LimitOptions
	timer *time.Timer
}

// NewLimit returns a callback that pauses training.
func NewLimit(o LimitOptions) *Limit {
	if !(o.Minutes >= 0) || o.Steps < 0 || o.Epochs < 0 {
		tensor.Fail("limit", nn.ErrConfig, "%v minutes, %d steps, %d epochs; want positive numbers", o.Minutes, o.Steps, o.Epochs)
	}
	return &Limit{LimitOptions: o}
}

// RunBegin starts the clock.
func (l *Limit) RunBegin(p Plan) error {
	if l.Minutes > 0 {
		l.timer = time.AfterFunc(time.Duration(l.Minutes*float64(time.Minute)), func() { p.Training.Pause("limit: %v minutes", l.Minutes) })
	}
	return nil
}

// StepEnd pauses after steps.
func (l *Limit) StepEnd(p Progress) error {
	if l.Steps > 0 && p.Step%uint64(l.Steps) == 0 {
		return Pause("limit: %d steps", p.Step)
	}
	return nil
}

// EpochEnd pauses after epochs.
func (l *Limit) EpochEnd(e Epoch) error {
	if l.Epochs > 0 && e.Number%l.Epochs == 0 && e.Number < e.Epochs {
		return Pause("limit: %d epochs", e.Number)
	}
	return nil
}

// RunEnd stops the clock.
func (l *Limit) RunEnd(error) {
	if l.timer != nil {
		l.timer.Stop()
	}
}

var _ = RegisterCallback("limit", NewLimit, LimitOptions{})
