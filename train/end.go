package train

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/storage"
)

// An ending is the error of a callback that ends training in order.
type ending struct {
	reason string
	over   bool // the run is complete
}

func (e *ending) Error() string { return e.reason }

// Stop returns an error with which a callback completes the run: each [Finisher] is called, the run is saved, callbacks are
// told the reason, and Fit returns nil. All processes of a run must stop after the same step, so the decision must follow from
// values that all have, as those of Progress and Epoch but times are.
func Stop(format string, args ...any) error { return &ending{fmt.Sprintf(format, args...), true} }

// Pause is Stop of a run that is not complete: it is saved as it is, and goes on when it is resumed. As the cause of the context
// of Fit it pauses all processes after the same step, when any of them is told to.
func Pause(format string, args ...any) error { return &ending{reason: fmt.Sprintf(format, args...)} }

// endOf returns the ending that err is, or nil.
func endOf(err error) *ending {
	var e *ending
	errors.As(err, &e)
	return e
}

// endTraining completes the run where training has come to its end, or was stopped.
func (t *trainer) endTraining(e *ending) error {
	p := &t.r.Position
	if e != nil {
		p.Stopped = e.reason
		if err := cmp.Or(t.endTogether(e), t.shareState()); err != nil {
			return err
		}
	}
	if t.executor != nil {
		if err := t.executor.collect(); err != nil {
			return err
		}
	}
	if p.Finished || e != nil && !e.over {
		return nil
	}
	if e == nil && !t.callbacks.finish() {
		return nil
	}
	p.Finished, t.changed = true, true
	for _, c := range t.callbacks {
		if f, ok := c.(Finisher); ok {
			if err := f.Finish(t.plan.Training); err != nil {
				return fmt.Errorf("callback %s: %w", CallbackName(c), err)
			}
		}
	}
	return nil
}

// endTogether notes why training ends, and returns an error unless all processes end it after this step.
func (t *trainer) endTogether(e *ending) error {
	if t.shards.group != nil && !t.agreed.stop {
		mine := fmt.Sprintf("ends training after step %d: %s", t.r.Position.Step, e.reason)
		all, err := collective.Gather(t.shards.group, []byte(mine))
		if err != nil {
			return err
		}
		for rank, text := range all {
			if string(text) != mine {
				return fmt.Errorf("train: rank %d %s, and rank %d does not; decide by values that all have: %w", t.shards.rank(), mine, rank, storage.ErrState)
			}
		}
	}
	at := fmt.Sprintf("training ends after epoch %d: ", t.r.Position.Epoch)
	if !e.over {
		at = fmt.Sprintf("training pauses after step %d: ", t.r.Position.Step)
	}
	return t.note(at + strings.TrimSuffix(e.reason, "."))
}
