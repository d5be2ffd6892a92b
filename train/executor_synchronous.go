package train

import (
	"cmp"
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// synchronous makes each step to its end, on the host.
type synchronous struct {
	*trainer
	args storage.Array // hyperparameters, for the loss scaler's optimizers; else empty
}

func (t *trainer) newSynchronous() *synchronous {
	s := &synchronous{trainer: t}
	if t.scaler != nil {
		n := t.hyperCount()
		s.args = storage.From(make([]float64, n), n)
	}
	return s
}

func (s *synchronous) beginEpoch() error { return nil }
func (s *synchronous) collect() error    { return nil }

func (s *synchronous) step(b *batch) error {
	s.Optimizer.SetRate(s.rateAt(s.Position.Consumed))
	if s.args.Data != nil {
		copy(storage.Elements[float64](s.args), s.nextArgs().hyper)
		s.captureArgs(s.args)
	}
	var loss float64
	var correct, ignored int
	var updated bool
	err := tensor.Step(func(t *tensor.Tape) (err error) {
		t.Seed(s.Config.Seed, s.randomStep())
		s.autocast(t)
		c := s.compare(exampleOf(t, s.Inputs, s.binding, b.fields, b.rows))
		if loss = c.loss.Item(); !isFinite(loss) {
			return s.nonFinite(loss, s.Position.Consumed)
		}
		counts, left := s.correct(c)
		if counts != nil {
			correct = int(counts.Item())
		}
		if left != nil {
			ignored = int(left.Item())
		}
		if shown := s.measure(c, s.metrics); shown != c.loss {
			loss = shown.Item()
		}
		updated, err = s.update(s.batchInfo(b), c.loss)
		return err
	})
	if err = cmp.Or(err, s.lossScaleErr()); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", s.Position.Epoch+1, s.Position.Step+1, err)
	}
	if s.args.Data != nil && updated {
		s.capturable.CountStep()
	}
	s.Position.Running.add(b.n, loss, correct, ignored)
	return nil
}
