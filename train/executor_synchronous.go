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
	if t.r.scaler != nil {
		n := t.hyperCount()
		s.args = storage.From(make([]float64, n), n)
	}
	return s
}

func (s *synchronous) beginEpoch() error { return nil }
func (s *synchronous) collect() error    { return nil }

func (s *synchronous) step(b *batch) error {
	s.r.Optimizer.SetRate(s.rateAt(s.r.Position.Consumed))
	if s.args.Data != nil {
		copy(storage.Elements[float64](s.args), s.nextArgs().hyper)
		s.captureArgs(s.args)
	}
	var loss float64
	var correct, ignored int
	var updated bool
	err := tensor.Step(func(t *tensor.Tape) (err error) {
		t.Seed(s.r.Config.Seed, s.r.Position.Step)
		s.r.autocast(t)
		c := s.r.compare(exampleOf(t, s.r.Inputs, s.binding, b.fields, b.rows))
		if loss = c.loss.Item(); !isFinite(loss) {
			return s.nonFinite(loss, s.r.Position.Consumed)
		}
		counts, left := s.r.correct(c)
		if counts != nil {
			correct = int(counts.Item())
		}
		if left != nil {
			ignored = int(left.Item())
		}
		if shown := s.r.measure(c, s.r.metrics[0]); shown != c.loss {
			loss = shown.Item()
		}
		updated, err = s.update(s.batchInfo(b), c)
		return err
	})
	if err = cmp.Or(err, s.lossScaleErr()); err != nil {
		return fmt.Errorf("epoch %d, step %d: %w", s.r.Position.Epoch+1, s.r.Position.Step+1, err)
	}
	if s.args.Data != nil && updated {
		s.capturable.CountStep()
	}
	s.r.Position.Running.add(b.n, loss, correct, ignored)
	return nil
}
