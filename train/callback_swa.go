package train

import (
	"fmt"
	"iter"
	"maps"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// SWAOptions are the settings of [SWA].
type SWAOptions struct {
	Start        float64 `json:"start"` // epochs before the first that is averaged, or their share of all epochs if it is below 1; 0.75 if 0
	LearningRate float64 `json:"lr"`    // from then on; as the schedule has it if 0
}

// SWA averages the parameters after each of the last epochs, and gives the model the averages at the end of the run (Izmailov et
// al., arXiv:1803.05407). The running statistics of batch norms are then computed anew, in a pass over the training data in
// full batches: each is the mean of those of the batches, as in PyTorch's update_bn.
type SWA struct {
	OnlyProgress
	SWAOptions
	count    int // epochs averaged
	averages map[string]storage.Array
}

var swaDefaults = SWAOptions{Start: 0.75}

// NewSWA returns a callback that averages parameters.
func NewSWA(o SWAOptions) *SWA {
	if o.Start == 0 {
		o.Start = swaDefaults.Start
	}
	if !(o.Start > 0) || !(o.LearningRate >= 0) {
		tensor.Fail("swa", nn.ErrConfig, "start %v, lr %v; want positive numbers", o.Start, o.LearningRate)
	}
	return &SWA{SWAOptions: o, averages: map[string]storage.Array{}}
}

// start returns the number of epochs before the first that is averaged.
func (s *SWA) start(epochs int) float64 {
	if s.Start < 1 {
		return s.Start * float64(epochs)
	}
	return s.Start
}

// RunBegin refuses runs whose predictions other averages make.
func (s *SWA) RunBegin(p Plan) error {
	if p.Training.Run().ema != nil {
		return fmt.Errorf("swa: the run has moving averages too; leave ema out: %w", storage.ErrState)
	}
	return nil
}

// Rate returns the learning rate after a number of epochs, for which the schedule has rate.
func (s *SWA) Rate(p nn.Progress, rate float64) float64 {
	if s.LearningRate > 0 && p.Epoch >= s.start(int(p.Epochs)) {
		return s.LearningRate
	}
	return rate
}

// EpochEnd adds the parameters to the averages.
func (s *SWA) EpochEnd(e Epoch) error {
	if float64(e.Number) <= s.start(e.Epochs) {
		return nil
	}
	s.count++
	return tensor.Try(func() {
		for name, p := range e.Plan.Training.t.params {
			if a, ok := s.averages[name]; ok {
				average := tensor.FromArray(a)
				average.AddInPlace(p.Detach().Sub(average).DivScalar(float64(s.count)))
			} else {
				s.averages[name] = p.CloneDetached().Array()
			}
		}
	})
}

// Finish gives the model the averages.
func (s *SWA) Finish(t *Training) error {
	if s.count == 0 {
		return nil
	}
	for name, p := range t.t.params {
		if err := s.averages[name].CopyTo(p.Array()); err != nil {
			return fmt.Errorf("swa: %s: %w", name, err)
		}
	}
	return t.RenewStatistics()
}

// Name returns the name of the state.
func (s *SWA) Name() string { return "swa" }

// State yields the averages and the number of epochs in them.
func (s *SWA) State() iter.Seq2[string, storage.Array] {
	all := maps.Clone(s.averages)
	all["count"] = storage.From([]float64{float64(s.count)}, 1)
	return byName(all)
}

// Load takes what State yields.
func (s *SWA) Load(params iter.Seq2[string, *nn.Parameter], state iter.Seq2[string, storage.Array]) error {
	all := maps.Collect(state)
	count, err := numbersOf(all, "count", 1)
	if err != nil {
		return err
	}
	s.count = int(count[0])
	for name, p := range params {
		a, ok := all[name]
		if !ok {
			continue // before the first epoch that is averaged
		}
		if s.averages[name], err = storage.Make(p.Device(), p.DType(), p.Shape()...); err == nil {
			err = a.CopyTo(s.averages[name])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

var _ = RegisterCallback("swa", NewSWA, swaDefaults)
