package train

import (
	"context"
	"iter"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// A streamedSource copies each batch to a ring as it is read.
type streamedSource struct {
	*ring
	loader *dataset.Loader
	check  batchCheck
	args   setArgs // nil unless training
}

// setArgs sets the arguments of a slot's step to those of the next step.
type setArgs func(s *slot, step int, rows []int)

// newArgs gives each slot of r a buffer for the arguments of a number of steps.
func (f *trainer) newArgs(r *ring, steps int) (_ setArgs, err error) {
	for _, s := range r.slots {
		if s.argsBuffer, err = newArgsBuffer(r.device, steps, f.hyperCount(), f.fullBatch()); err != nil {
			return nil, err
		}
	}
	return func(s *slot, step int, rows []int) { s.set(step, f.nextArgs(), rows) }, r.afterAllocations()
}

func (f *streamedSource) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	sent := func(yield func(*slot, error) bool) {
		f.begin()
		for from, err := range f.loader.Epoch(ctx, number, start) {
			var s *slot
			if err == nil {
				s, err = f.send(from)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
	if f.args == nil {
		return f.serve(oneAhead(sent))
	}
	return f.serve(sent)
}

// send returns a slot with the copies of from in progress.
func (f *streamedSource) send(from *dataset.Batch) (*slot, error) {
	if err := f.check.run(from); err != nil {
		return nil, err
	}
	if f.turn < f.timed { // there is no computation before the first batch
		f.wait += from.Waited
	}
	n := len(from.Rows)
	return f.ring.send(func(s *slot) error {
		s.n, s.next = n, from.Consumed
		if f.args != nil {
			f.args(s, 0, nil)
			s.args = s.steps[0]
			if err := s.argsBuffer.upload(f.copies); err != nil {
				return err
			}
		}
		for i, field := range from.Fields {
			s.fields[i] = rows(s.buffers[i], 0, n)
			if err := f.upload(s.buffers[i], 0, field); err != nil {
				return err
			}
		}
		return nil
	})
}

// upload enqueues the copy of a batch that a loader has read to the samples of to from
// first on.
func (r *ring) upload(to storage.Array, first int, from storage.Array) error {
	n := from.NBytes()
	return r.copies.Upload(to.Data, first*n/max(1, from.Shape[0]), from.Data.(storage.Host), n)
}
