package train

import (
	"context"
	"fmt"
	"strings"
)

// A Training is a call of Fit, for its callbacks. RunBegin gets it in its argument.
type Training struct{ t *trainer }

// Run returns the run that is trained.
func (t *Training) Run() *Run { return t.t.r }

// Pause ends training after this step or a later one, the same one in all processes, as [Pause] does. It may be called
// from any goroutine and from one process alone.
func (t *Training) Pause(format string, args ...any) { t.t.interruptWith(Pause(format, args...)) }

// Writes reports whether this process writes the files of the run: it is the first, or the only one.
func (t *Training) Writes() bool { return t.t.shards.rank() == 0 }

// File returns the name of the run file, or "" if this process saves none.
func (t *Training) File() string {
	if t.t.saver == nil {
		return ""
	}
	return t.t.options.File
}

// Note tells the callbacks what the user should know.
func (t *Training) Note(text string) error { return t.t.note(text) }

// batch names the samples of the batch after a number of samples of the epoch: those that this process reads.
func (t *Training) batch(consumed int) string {
	const most = 12
	for rows := range t.t.loader.Order(t.t.r.Position.Epoch, t.t.localStart(consumed)) {
		text := strings.Trim(fmt.Sprint(rows[:min(most, len(rows))]), "[]")
		if len(rows) > most {
			text += fmt.Sprintf(" and %d more", len(rows)-most)
		}
		return "samples " + strings.ReplaceAll(text, " ", ", ")
	}
	return "no samples"
}

// Validate evaluates the model on the validation data, as at the end of an epoch. All processes call it after the same step.
func (t *Training) Validate() (Metrics, error) {
	if err := t.t.executor.collect(); err != nil {
		return Metrics{}, err
	}
	return t.t.validate(context.Background())
}
