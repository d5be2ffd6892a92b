package train

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// slots is how many batches a ring holds: one is computed on, one is on its way,
// one is being asked for.
const ringSize = 3

// A ring is memory on a device for batches to come while others are computed on.
// The copies run on a queue of their own; marks keep each from overtaking the
// computation that still needs the slot, and the computation from overtaking the
// copies it needs.
type ring struct {
	device  storage.AsyncDevice
	copies  storage.Stream
	slots   []*slot
	events  []slotEvents // in turns, twice as many as slots, so that their times can be told
	turn    int          // batches so far
	timed   int          // of them, whose waits are in wait
	wait    time.Duration
	closers []io.Closer // the queue and all marks
}

// A slot is room for one batch, and the batch.
type slot struct {
	batch
	buffers []storage.Array // of whole batches; none if all samples are on the device
	args    argsBuffer      // what a step is told besides, if anything
	turn    int
	graphs  map[int]graph // the captured steps on this slot's memory, by variant
}

// A passage is where a batch went through both queues.
type slotEvents struct {
	copied, computed storage.Event // behind the batch's copies, behind its computation
}

// newRing returns a ring for batches of those fields.
func newRing(device storage.AsyncDevice, fields []dataset.Field, samples int) (*ring, error) {
	r := &ring{device: device}
	if err := r.allocate(fields, samples); err != nil {
		return nil, cmp.Or(fmt.Errorf("ring of batches: %w", err), r.close())
	}
	return r, nil
}

func (r *ring) allocate(fields []dataset.Field, samples int) (err error) {
	if r.copies, err = opened(r, r.device.OpenStream); err != nil {
		return err
	}
	for range ringSize {
		s := &slot{buffers: make([]storage.Array, len(fields))}
		for i, field := range fields {
			if s.buffers[i], err = newBatchArray(r.device, field, samples); err != nil {
				return err
			}
		}
		s.fields, s.slot = slices.Clone(s.buffers), s
		r.slots = append(r.slots, s)
	}
	for range 2 * ringSize {
		var p slotEvents
		if p.copied, err = opened(r, r.device.OpenEvent); err != nil {
			return err
		}
		if p.computed, err = opened(r, r.device.OpenEvent); err != nil {
			return err
		}
		r.events = append(r.events, p)
	}
	return r.afterAllocations()
}

// settle has copies wait for all that the device was asked for, such as memory.
func (r *ring) afterAllocations() error {
	for _, p := range r.events {
		if err := r.device.ComputeStream().Record(p.computed); err != nil {
			return err
		}
	}
	return nil
}

// made returns what make makes, for r to close.
func opened[T io.Closer](r *ring, make func() (T, error)) (T, error) {
	it, err := make()
	if err == nil {
		r.closers = append(r.closers, it)
	}
	return it, err
}

func newBatchArray(d storage.Device, f dataset.Field, samples int) (storage.Array, error) {
	return storage.Make(d, f.Type, append([]int{samples}, f.Shape...)...)
}

// at returns the passage of a batch by its number.
func (r *ring) eventsOf(batch int) slotEvents { return r.events[batch%len(r.events)] }

// send returns the next slot, with what fill copies to it on its way.
func (r *ring) send(fill func(s *slot) error) (*slot, error) {
	s, before := r.slots[r.turn%ringSize], r.eventsOf(r.turn+ringSize)
	for _, step := range []func() error{
		before.copied.Wait, // then pinned memory that it was copied from can be written
		func() error { return r.copies.WaitEvent(before.computed) },
		func() error { return fill(s) },
		func() error { return r.copies.Record(r.eventsOf(r.turn).copied) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	s.turn = r.turn
	r.turn++
	return s, nil
}

// serve yields slots that were sent as batches: what the device is asked for from
// then on waits for the copies. A batch is valid until the next is taken.
func (r *ring) serve(sent iter.Seq2[*slot, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		defer r.waitCopies() // a copy that fails, fails the next step too
		for s, err := range sent {
			if err == nil {
				err = r.device.ComputeStream().WaitEvent(r.eventsOf(s.turn).copied)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&s.batch, nil) {
				return
			}
			if err := r.device.ComputeStream().Record(r.eventsOf(s.turn).computed); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// early takes one slot more than it has yielded, so that it is on its way while
// the one before is waited for.
func oneAhead(sent iter.Seq2[*slot, error]) iter.Seq2[*slot, error] {
	return func(yield func(*slot, error) bool) {
		var ready *slot
		for s, err := range sent {
			if ready != nil && !yield(ready, nil) {
				return
			}
			if ready = s; err != nil {
				yield(nil, err)
				return
			}
		}
		if ready != nil {
			yield(ready, nil)
		}
	}
}

// begin has waits counted anew, from the batch after the next on.
func (r *ring) begin() { r.timed, r.wait = r.turn+1, 0 }

// waited adds up, for batches that have arrived, how much later that was than the
// end of the computation before. It is asked for each.
func (r *ring) waited() (time.Duration, error) {
	for ; r.timed < r.turn; r.timed++ {
		late, both, err := r.eventsOf(r.timed).copied.Since(r.eventsOf(r.timed + 2*ringSize - 1).computed)
		if err != nil || !both {
			return r.wait, err
		}
		r.wait += max(0, late)
	}
	return r.wait, nil
}

// idle waits until all copies are done, so that what they are from can be reused.
func (r *ring) waitCopies() error {
	for _, p := range r.events {
		if err := p.copied.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (r *ring) close() error {
	failed := []error{r.waitCopies(), r.device.Sync()}
	for _, s := range r.slots {
		for _, g := range s.graphs {
			failed = append(failed, g.captured.Close())
		}
	}
	for _, it := range slices.Backward(r.closers) {
		failed = append(failed, it.Close())
	}
	return cmp.Or(failed...) // the others follow from it
}
