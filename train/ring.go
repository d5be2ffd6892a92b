package train

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// ringSize is the number of batches in a ring: one is computed on, one is being
// copied, one is being prepared.
const ringSize = 3

// A ring is a ring buffer of batches in device memory, so that copies overlap with
// computation. The copies have a stream of their own. By events a copy waits for the
// computation that still reads the slot, and a computation for its copies.
type ring struct {
	device  storage.AsyncDevice
	copies  storage.Stream
	slots   []*slot
	events  []slotEvents // used in turns, twice as many as slots, so that times can be read later
	turn    int          // number of batches sent
	timed   int          // number of batches whose waiting time is in wait
	wait    time.Duration
	untimed bool        // whether no waiting time is measured, so that events are cheaper
	closers []io.Closer // the stream and all events
}

// A slot is device memory for one batch. If all samples are on the device, it is memory
// for the arguments of several steps.
type slot struct {
	buffers  []storage.Array           // for full batches; none if all samples are on the device
	args     argsBuffer                // of steps, when training
	graphs   map[graphKey]tensor.Graph // the captured steps on this slot's memory
	turn     int
	taken    int  // number of steps whose arguments are set
	launched bool // whether they were launched, so that the slot takes no more
}

// slotEvents are the events of one batch.
type slotEvents struct {
	copied, computed storage.Event // recorded after the copies to the slot, and after the computation on it
}

// newRing returns a ring for batches with a number of samples of fields. Without fields all samples are on the
// device already, and its events have no times.
func newRing(device storage.AsyncDevice, fields []dataset.Field, samples int) (*ring, error) {
	r := &ring{device: device, untimed: len(fields) == 0}
	openEvent := func() (storage.Event, error) { return device.OpenEvent(!r.untimed) }
	if err := r.allocate(fields, samples, openEvent); err != nil {
		return nil, cmp.Or(fmt.Errorf("ring of batches: %w", err), r.close())
	}
	return r, nil
}

func (r *ring) allocate(fields []dataset.Field, samples int, openEvent func() (storage.Event, error)) (err error) {
	if r.copies, err = opened(r, r.device.OpenStream); err != nil {
		return err
	}
	for range ringSize {
		s := &slot{buffers: make([]storage.Array, len(fields)), launched: true}
		for i, field := range fields {
			if s.buffers[i], err = newBatchArray(r.device, field, samples); err != nil {
				return err
			}
		}
		r.slots = append(r.slots, s)
	}
	for range 2 * ringSize {
		var p slotEvents
		if p.copied, err = opened(r, openEvent); err != nil {
			return err
		}
		if p.computed, err = opened(r, openEvent); err != nil {
			return err
		}
		r.events = append(r.events, p)
	}
	return r.afterAllocations()
}

// afterAllocations makes copies wait for everything that was enqueued on the device so
// far, such as allocations.
func (r *ring) afterAllocations() error {
	for _, p := range r.events {
		if err := r.device.ComputeStream().Record(p.computed); err != nil {
			return err
		}
	}
	return nil
}

// opened returns what open opens, which r closes.
func opened[T io.Closer](r *ring, open func() (T, error)) (T, error) {
	it, err := open()
	if err == nil {
		r.closers = append(r.closers, it)
	}
	return it, err
}

func newBatchArray(d storage.Device, f dataset.Field, samples int) (storage.Array, error) {
	return storage.Make(d, f.Type, append([]int{samples}, f.Shape...)...)
}

// eventsOf returns the events of a batch by its number.
func (r *ring) eventsOf(batch int) slotEvents { return r.events[batch%len(r.events)] }

// next returns the next slot. Its pinned memory may be written, and copies to it wait for
// the computation that read it.
func (r *ring) next() (*slot, error) {
	s, before := r.slots[r.turn%ringSize], r.eventsOf(r.turn+ringSize)
	s.turn = r.turn
	r.turn++
	if err := before.copied.Wait(); err != nil {
		return nil, err
	}
	return s, r.copies.WaitEvent(before.computed)
}

// send returns b on the next slot, with the copies that fill enqueues in progress.
func (r *ring) send(b batch, fill func(b *batch) error) (_ *batch, err error) {
	if b.slot, err = r.next(); err != nil {
		return nil, err
	}
	if err := fill(&b); err != nil {
		return nil, err
	}
	return &b, r.copies.Record(r.eventsOf(b.slot.turn).copied)
}

// open returns a slot that takes the arguments of another step, until they are launched:
// the last one, or the next.
func (r *ring) open() (*slot, error) {
	if r.turn > 0 {
		if s := r.slots[(r.turn-1)%ringSize]; !s.launched {
			return s, nil
		}
	}
	s, err := r.next()
	if err == nil {
		s.taken, s.launched = 0, false
	}
	return s, err
}

// launch uploads the arguments of a slot's steps and calls work, which enqueues them.
func (r *ring) launch(s *slot, work func() error) error {
	s.launched = true
	if err := s.args.upload(r.copies); err != nil {
		return err
	}
	if err := r.copies.Record(r.eventsOf(s.turn).copied); err != nil {
		return err
	}
	return r.compute(s, work)
}

// compute calls work: computation that it enqueues waits for the copies to s, and later
// copies to s wait for the computation.
func (r *ring) compute(s *slot, work func() error) error {
	if err := r.device.ComputeStream().WaitEvent(r.eventsOf(s.turn).copied); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return r.device.ComputeStream().Record(r.eventsOf(s.turn).computed)
}

// serve yields batches that were sent. Computation that is enqueued from then on waits
// for the copies. A batch is valid until the next is yielded.
func (r *ring) serve(sent iter.Seq2[*batch, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		defer r.waitCopies() // an error of a copy is an error of the next step, too
		for b, err := range sent {
			if err == nil {
				err = r.compute(b.slot, func() error {
					if !yield(b, nil) {
						return errStopped
					}
					return nil
				})
			}
			if err != nil {
				if err != errStopped {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// errStopped says that no more batches are wanted.
var errStopped = errors.New("stopped")

// oneAhead takes each batch before it yields the one before it, so that copies overlap
// with code that waits for the computation.
func oneAhead(sent iter.Seq2[*batch, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		var ready *batch
		for b, err := range sent {
			if ready != nil && !yield(ready, nil) {
				return
			}
			if ready = b; err != nil {
				yield(nil, err)
				return
			}
		}
		if ready != nil {
			yield(ready, nil)
		}
	}
}

// begin restarts the measuring of waiting time, from the batch after the next.
func (r *ring) begin() { r.timed, r.wait = r.turn+1, 0 }

// waited returns how long the device has waited for data: for each batch, the time
// from the end of the computation before to the arrival of its copies. It does not wait
// for samples that are all there.
func (r *ring) waited() (time.Duration, error) {
	if r.untimed {
		return 0, nil
	}
	for ; r.timed < r.turn; r.timed++ {
		late, both, err := r.eventsOf(r.timed).copied.Since(r.eventsOf(r.timed + 2*ringSize - 1).computed)
		if err != nil || !both {
			return r.wait, err
		}
		r.wait += max(0, late)
	}
	return r.wait, nil
}

// waitCopies waits until all copies are done, so that their sources can be reused.
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
			failed = append(failed, g.Close())
		}
	}
	for _, it := range slices.Backward(r.closers) {
		failed = append(failed, it.Close())
	}
	return cmp.Or(failed...) // later errors follow from the first
}
