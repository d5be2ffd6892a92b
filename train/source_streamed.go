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
	args   uploadArgs // nil unless training
}

// uploadArgs enqueues the copy of the next step's arguments to a slot.
type uploadArgs func(s *slot, rows []int) error

// newArgs gives each slot of r a buffer for step arguments.
func (f *trainer) newArgs(r *ring) (_ uploadArgs, err error) {
	for _, s := range r.slots {
		if s.args, err = newArgsBuffer(r.device, f.hyperCount(), f.fullBatch()); err != nil {
			return nil, err
		}
	}
	return func(s *slot, rows []int) error { return s.args.upload(r.copies, f.nextArgs(), rows) }, r.afterAllocations()
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
			if err := f.args(s, nil); err != nil {
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
	n := from.Len() * from.Type.Size()
	return r.copies.Upload(to.Data, first*n/max(1, from.Shape[0]), from.Data.(storage.Host), n)
}
