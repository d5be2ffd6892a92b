package train

import (
	"fmt"
	"iter"
	"maps"
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// EarlyStoppingOptions are the settings of [EarlyStopping].
type EarlyStoppingOptions struct {
	Patience int     `json:"patience"`  // epochs without improvement before training stops; 10 if 0
	Monitor  string  `json:"monitor"`   // number that is to improve, such as val_accuracy; val_loss, or loss without validation data, if empty
	Mode     string  `json:"mode"`      // min or max; by the number: accuracies and their like rise, if empty
	MinDelta float64 `json:"min_delta"` // least change that counts as improvement
	KeepLast bool    `json:"keep_last"` // the model keeps its last weights, not the best
}

// EarlyStopping stops training when a number has not improved for some epochs. The run ends with the weights, the buffers
// and the moving averages of the best epoch, also where it comes to its last epoch before.
type EarlyStopping struct {
	OnlyProgress
	EarlyStoppingOptions
	monitor
	best  float64
	epoch int // of best; 0 before the first
	since int // epochs without improvement
	saved savedWeights
}

var earlyStoppingDefaults = EarlyStoppingOptions{Patience: 10}

// NewEarlyStopping returns a callback that stops training.
func NewEarlyStopping(o EarlyStoppingOptions) *EarlyStopping {
	if o.Patience == 0 {
		o.Patience = earlyStoppingDefaults.Patience
	}
	if o.Patience < 1 || !(o.MinDelta >= 0) {
		tensor.Fail("early_stopping", nn.ErrConfig, "patience %d, min_delta %v; want at least 1 and 0", o.Patience, o.MinDelta)
	}
	return &EarlyStopping{EarlyStoppingOptions: o, monitor: newMonitor("early_stopping", o.Monitor, o.Mode), best: math.NaN(), saved: savedWeights{}}
}

// RunBegin stops a run that has been stopped before.
func (s *EarlyStopping) RunBegin(Plan) error { return s.stop() }

// EpochEnd compares the epoch with the best.
func (s *EarlyStopping) EpochEnd(e Epoch) error {
	x, err := s.value(e)
	if err != nil {
		return fmt.Errorf("early_stopping: %w", err)
	}
	if s.since++; s.epoch == 0 || s.better(x, s.best, s.MinDelta) {
		s.best, s.epoch, s.since = x, e.Number, 0
		if !s.KeepLast {
			if err := s.saved.take(e.Plan.Training.Run()); err != nil {
				return fmt.Errorf("early_stopping: %w", err)
			}
		}
	}
	return s.stop()
}

func (s *EarlyStopping) stop() error {
	if s.since < s.Patience {
		return nil
	}
	return Stop("early_stopping: no improvement for %d epochs on %.6g in epoch %d", s.since, s.best, s.epoch)
}

// Finish restores the best weights.
func (s *EarlyStopping) Finish(t *Training) error {
	if s.KeepLast || s.since == 0 {
		return nil
	}
	return s.saved.restore(t.Run())
}

// Name returns the name of the state.
func (s *EarlyStopping) Name() string { return "early_stopping" }

// State yields the best number, its epoch, the epochs since, and the weights of the best epoch.
func (s *EarlyStopping) State() iter.Seq2[string, storage.Array] {
	all := maps.Clone(s.saved)
	all["best"] = storage.From([]float64{s.best, float64(s.epoch), float64(s.since)}, 3)
	return byName(all)
}

// Load takes what State yields.
func (s *EarlyStopping) Load(_ iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	all := maps.Collect(state)
	best, err := numbersOf(all, "best", 3)
	if err != nil {
		return err
	}
	s.best, s.epoch, s.since = best[0], int(best[1]), int(best[2])
	delete(all, "best")
	return s.saved.copy(byName(all))
}

var _ = RegisterCallback("early_stopping", NewEarlyStopping, earlyStoppingDefaults)
