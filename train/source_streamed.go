package train

import (
	"context"
	"iter"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/storage"
)

// A streamedSource copies each batch to a ring as it is read.
type streamedSource struct {
	ring   *ring
	loader *dataset.Loader
	check  batchCheck
	args   setArgs // nil unless training
}

// setArgs sets the arguments of a slot's step to those of the next step.
type setArgs func(s *slot, step int, rows []int)

// newArgs gives each slot of r a buffer for the arguments of a number of steps.
func (f *trainer) newArgs(r *ring, steps int) (_ setArgs, err error) {
	for _, s := range r.slots {
		if s.args, err = newArgsBuffer(r.device, steps, f.hyperCount(), f.fullBatch()); err != nil {
			return nil, err
		}
	}
	return func(s *slot, step int, rows []int) { s.args.set(step, f.nextArgs(), rows) }, r.afterAllocations()
}

func (f *streamedSource) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	sent := func(yield func(*batch, error) bool) {
		f.ring.begin()
		for from, err := range f.loader.Epoch(ctx, number, start) {
			var b *batch
			if err == nil {
				b, err = f.send(from)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
	if f.args == nil {
		return f.ring.serve(oneAhead(sent))
	}
	return f.ring.serve(sent)
}

func (f *streamedSource) waited() (time.Duration, error) { return f.ring.waited() }
func (f *streamedSource) close() error                   { return f.ring.close() }

// send returns a batch with the copies of from in progress.
func (f *streamedSource) send(from *dataset.Batch) (*batch, error) {
	if err := f.check.run(from); err != nil {
		return nil, err
	}
	if f.ring.turn < f.ring.timed { // there is no computation before the first batch
		f.ring.wait += from.Waited
	}
	fields, n := make([]storage.Array, len(from.Fields)), len(from.Rows)
	return f.ring.send(batch{fields: fields, n: n, next: from.Consumed}, func(b *batch) error {
		if f.args != nil {
			f.args(b.slot, 0, nil)
			b.args = b.slot.args.steps[0]
			if err := b.slot.args.upload(f.ring.copies); err != nil {
				return err
			}
		}
		for i, field := range from.Fields {
			fields[i] = rows(b.slot.buffers[i], 0, n)
			if err := f.ring.upload(b.slot.buffers[i], 0, field); err != nil {
				return err
			}
		}
		return nil
	})
}

// upload enqueues the copy of a batch that a loader has read to the samples of to from
// first on.
func (r *ring) upload(to storage.Array, first int, from storage.Array) error {
	defer trace.Begin(trace.Copying, "to the device", -1).End()
	n := from.NBytes()
	return r.copies.Upload(to.Data, first*n/max(1, from.Shape[0]), from.Data.(storage.Host), n)
}
