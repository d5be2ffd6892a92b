package train

import (
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/nn"
)

// A Callback is told how training goes, on the goroutine that called Fit. An error
// ends training and is returned by Fit; the run stays as it is. RunBegin, StepEnd and EpochEnd
// may also return [Stop] or [Pause]. Embed [CallbackFuncs] or [OnlyProgress] to implement some of the methods only.
//
// A callback may implement [Resumable], to have state in run files; [Finisher], to change the run at its end; [RateSetter]; and
// [Hook], to see the gradients of each update: of all its batches and shards, before they are clipped. [Step.Unscaled] divides by the loss scale.
type Callback interface {
	// RunBegin is called before the first step.
	RunBegin(Plan) error
	// StepEnd is called after each step. On a GPU the step may still be running, or not
	// be launched yet if all that is told about steps is CallbackFuncs.OnProgress or embeds OnlyProgress.
	StepEnd(Progress) error
	// EpochEnd is called after each epoch, once it is validated, before the run is saved.
	EpochEnd(Epoch) error
	// Saved is called once the named run file is complete.
	Saved(file string) error
	// Note is called with what the user should know, such as a faster way of
	// training that turned out not to work.
	Note(text string) error
	// RunEnd is called once, with the error that Fit is about to return.
	RunEnd(err error)
}

// CallbackFuncs is a [Callback] made of functions. Those that are nil do nothing.
type CallbackFuncs struct {
	OnRunBegin func(Plan) error
	OnStepEnd  func(Progress) error
	OnProgress func(Progress) error // OnStepEnd of what looks at its argument only, so that several steps can be launched together
	OnEpochEnd func(Epoch) error
	OnSaved    func(file string) error
	OnNote     func(text string) error
	OnRunEnd   func(err error)
}

// RunBegin calls OnRunBegin.
func (f CallbackFuncs) RunBegin(p Plan) error { return call(f.OnRunBegin, p) }

// StepEnd calls OnStepEnd and OnProgress.
func (f CallbackFuncs) StepEnd(p Progress) error {
	return cmp.Or(call(f.OnStepEnd, p), call(f.OnProgress, p))
}

// EpochEnd calls OnEpochEnd.
func (f CallbackFuncs) EpochEnd(e Epoch) error { return call(f.OnEpochEnd, e) }

// Saved calls OnSaved.
func (f CallbackFuncs) Saved(file string) error { return call(f.OnSaved, file) }

// Note calls OnNote.
func (f CallbackFuncs) Note(text string) error { return call(f.OnNote, text) }

// RunEnd calls OnRunEnd.
func (f CallbackFuncs) RunEnd(err error) {
	if f.OnRunEnd != nil {
		f.OnRunEnd(err)
	}
}

func call[T any](f func(T) error, value T) error {
	if f == nil {
		return nil
	}
	return f(value)
}

// OnlyProgress is a [Callback] that does nothing. A callback that embeds it looks at the argument of StepEnd only, so that
// several steps can be launched together.
type OnlyProgress struct{ CallbackFuncs }

// StepsByProgress tells that steps are known by their progress alone.
func (OnlyProgress) StepsByProgress() bool { return true }

// looksAt reports what c looks at after steps: their progress, and the model too.
func looksAt(c Callback) (progress, model bool) {
	switch f := c.(type) {
	case CallbackFuncs:
		return f.OnStepEnd != nil || f.OnProgress != nil, f.OnStepEnd != nil
	case interface{ StepsByProgress() bool }:
		return true, false
	}
	return true, true
}

// callbacks calls several in order, until one fails.
type callbacks []Callback

// each calls f with all callbacks, also after one that ends training in order.
func (all callbacks) each(f func(Callback) error) error {
	var end error
	for _, c := range all {
		err := f(c)
		if err != nil && endOf(err) == nil {
			return err
		}
		end = cmp.Or(end, err)
	}
	return end
}

// finish reports whether some of them change the run at its end.
func (all callbacks) finish() bool {
	return slices.ContainsFunc(all, func(c Callback) bool { _, does := c.(Finisher); return does })
}

// A RateSetter changes the learning rate that the schedule has, before each step.
type RateSetter interface {
	Callback
	Rate(p nn.Progress, rate float64) float64
}

// A Finisher changes a run at its end, such as to give the model its best weights.
type Finisher interface {
	Callback
	// Finish is called after the last epoch, or after [Stop], before the run is saved for the last time.
	Finish(*Training) error
}
