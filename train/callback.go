package train

import "cmp"

// A Callback is told how training goes, on the goroutine that called Fit. An error
// ends training and is returned by Fit; the run stays as it is. Embed
// [CallbackFuncs] to implement some of the methods only.
type Callback interface {
	// RunBegin is called before the first step.
	RunBegin(Plan) error
	// StepEnd is called after each step. On a GPU the step may still be running, or not
	// be launched yet if all that is told about steps is CallbackFuncs.OnProgress.
	StepEnd(Progress) error
	// EpochEnd is called after each epoch, once it is validated.
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

// callbacks calls several in order, until one fails.
type callbacks []Callback

func (all callbacks) each(f func(Callback) error) error {
	for _, c := range all {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}
