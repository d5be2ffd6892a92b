package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ValidationOptions are the settings of [Validation].
type ValidationOptions struct {
	Every int `json:"every"` // required: steps of the run between two validations
}

// Validation validates between epochs too, after each multiple of a number of steps, and notes the loss and accuracy. The run file has all of them under
// callbacks/validation: steps, val_loss and so on.
type Validation struct {
	CallbackFuncs
	ValidationOptions
	numbers map[string][]float64
}

// NewValidation returns a callback that validates.
func NewValidation(o ValidationOptions) *Validation {
	if o.Every < 0 {
		tensor.Fail("validation", nn.ErrConfig, "every %d steps; want at least 1", o.Every)
	}
	return &Validation{ValidationOptions: o, numbers: map[string][]float64{}}
}

// RunBegin refuses runs without validation data.
func (v *Validation) RunBegin(p Plan) error {
	if v.Every == 0 || !p.Training.t.validates {
		return fmt.Errorf("validation: every %d steps; want a number of steps, and data to validate on: %w", v.Every, storage.ErrState)
	}
	return nil
}

// StepEnd validates after steps.
func (v *Validation) StepEnd(p Progress) error {
	if p.Step%uint64(v.Every) != 0 || p.Done == p.Plan.Training.Run().Position.Samples {
		return nil // the end of an epoch validates
	}
	t := p.Plan.Training
	m, err := t.Validate()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("step %d: val_loss %.4f", p.Step, m.MeanLoss())
	v.add("steps", float64(p.Step))
	v.add("val_loss", m.MeanLoss())
	if t.Run().HasAccuracy() {
		v.add("val_accuracy", m.Accuracy())
		text += fmt.Sprintf(", val_accuracy %.4f", m.Accuracy())
	}
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		if a := m.Values[name]; a.Len() == 1 {
			v.add("val_"+name, storage.Elements[float64](a)[a.Offset])
		}
	}
	return t.Note(text)
}

func (v *Validation) add(name string, x float64) { v.numbers[name] = append(v.numbers[name], x) }

// Name returns the name of the state.
func (v *Validation) Name() string { return "validation" }

// State yields the numbers of all validations.
func (v *Validation) State() iter.Seq2[string, storage.Array] { return History(v.numbers).arrays }

// Load takes what State yields.
func (v *Validation) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) (err error) {
	all := maps.Collect(state)
	for name := range byName(all) {
		if v.numbers[name], err = numbersOf(all, name, -1); err != nil {
			return err
		}
	}
	return nil
}

var _ = RegisterCallback("validation", NewValidation, ValidationOptions{})
