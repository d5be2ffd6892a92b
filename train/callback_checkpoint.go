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

// CheckpointOptions are the settings of [Checkpoint].
type CheckpointOptions struct {
	Best    int    `json:"best"`    // number of the best epochs whose run files stay
	Monitor string `json:"monitor"` // number that says which epochs are best, such as val_accuracy; val_loss, or loss without validation data, if empty
	Mode    string `json:"mode"`    // min or max; by the number: accuracies and their like rise, if empty
	Last    int    `json:"last"`    // number of the last saves that stay, as keep says
}

// Checkpoint keeps saves beside the run file, named after their steps: run-step1200.h5 for run.h5. They are hard links, so
// nothing is written twice. The run is saved after an epoch that is among the best.
type Checkpoint struct {
	OnlyProgress
	CheckpointOptions
	monitor
	steps  []float64 // of the best epochs, the best first
	values []float64
}

// NewCheckpoint returns a callback that keeps saves.
func NewCheckpoint(o CheckpointOptions) *Checkpoint {
	if o.Best < 0 || o.Last < 0 {
		tensor.Fail("checkpoint", nn.ErrConfig, "best %d, last %d; want numbers of files", o.Best, o.Last)
	}
	return &Checkpoint{CheckpointOptions: o, monitor: newMonitor("checkpoint", o.Monitor, o.Mode)}
}

// EpochEnd puts the epoch among the best if it is one of them. Of equals the earlier is better.
func (c *Checkpoint) EpochEnd(e Epoch) error {
	if c.Best == 0 {
		return nil
	}
	x, err := c.value(e)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	at := slices.IndexFunc(c.values, func(other float64) bool { return c.better(x, other, 0) })
	if at < 0 {
		at = len(c.values)
	}
	c.values = slices.Insert(c.values, at, x)
	c.steps = slices.Insert(c.steps, at, float64(e.Plan.Training.Run().Position.Step))
	if len(c.steps) > c.Best {
		c.values, c.steps = c.values[:c.Best], c.steps[:c.Best]
	}
	return nil
}

// keep adds the saves that c keeps.
func (c *Checkpoint) keep(k *kept) {
	k.last = max(k.last, c.Last)
	for _, step := range c.steps {
		k.steps = append(k.steps, uint64(step))
	}
}

// Name returns the name of the state.
func (c *Checkpoint) Name() string { return "checkpoint" }

// State yields the steps of the best epochs and their numbers.
func (c *Checkpoint) State() iter.Seq2[string, storage.Array] {
	return byName(map[string]storage.Array{"steps": storage.From(c.steps, len(c.steps)), "values": storage.From(c.values, len(c.values))})
}

// Load takes what State yields.
func (c *Checkpoint) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) (err error) {
	all := maps.Collect(state)
	if c.steps, err = numbersOf(all, "steps", -1); err != nil {
		return err
	}
	c.values, err = numbersOf(all, "values", len(c.steps))
	return err
}

var _ = RegisterCallback("checkpoint", NewCheckpoint, CheckpointOptions{Best: 1})
