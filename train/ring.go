package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// slots is how many batches a ring holds: one is computed on, one is on its way,
// one is being asked for.
const slots = 3

// A ring is memory on a device for batches to come while others are computed on.
// The copies run on a queue of their own; marks keep each from overtaking the
// computation that still needs the slot, and the computation from overtaking the
// copies it needs.
type ring struct {
	device storage.Streaming
	copies storage.Queue
	slots  []*slot
	next   int
	head   func() head
	made   []io.Closer // the queue and all marks
}

// A slot is room for one batch, and what else its step needs to know.
type slot struct {
	x, y   storage.Array // of a whole batch; of no storage if all samples are on the device
	dials  storage.Array // float64 (3): see nn.Steerable
	stream storage.Array // uint64 (1): see tensor.Tape.SeedAt
	rows   storage.Array // int64, of a whole batch: which samples, if all are on the device

	pinned       storage.Host // dials, stream and rows, one after the other
	copied, used storage.Mark // behind the slot's copies, behind its computation
	replay       tensor.Replay
}

// A head is what changes from step to step.
type head struct {
	dials  [3]float64
	stream uint64
}

// headed is how many numbers of 8 bytes a head takes.
const headed = 4

// newRing returns a ring for batches of those fields, or of row numbers only.
func newRing(device storage.Streaming, fields []dataset.Field, samples int, resident bool, head func() head) (*ring, error) {
	r := &ring{device: device, head: head}
	if resident {
		fields = nil
	}
	if err := r.furnish(fields, samples); err != nil {
		return nil, errors.Join(fmt.Errorf("ring of batches: %w", err), r.close())
	}
	return r, nil
}

func (r *ring) furnish(fields []dataset.Field, samples int) (err error) {
	if r.copies, err = made(r, r.device.NewQueue); err != nil {
		return err
	}
	for range slots {
		s, err := r.newSlot(samples)
		if err != nil {
			return err
		}
		for i, to := range []*storage.Array{&s.x, &s.y}[:len(fields)] {
			if *to, err = roomFor(r.device, fields[i], samples); err != nil {
				return err
			}
		}
		if err := r.end(s); err != nil { // copies wait for the memory to be the slot's
			return err
		}
		r.slots = append(r.slots, s)
	}
	return nil
}

// made returns what make makes, for r to close.
func made[T io.Closer](r *ring, make func() (T, error)) (T, error) {
	it, err := make()
	if err == nil {
		r.made = append(r.made, it)
	}
	return it, err
}

func (r *ring) newSlot(samples int) (*slot, error) {
	s := &slot{}
	size := 8 * (headed + samples)
	numbers, err := r.device.Alloc(size)
	if err != nil {
		return nil, err
	}
	part := func(t dtype.Type, first, n int) storage.Array {
		v := views.Of(n)
		v.Offset = first
		return storage.Array{Data: numbers, Type: t, View: v}
	}
	s.dials, s.stream, s.rows = part(dtype.Float64, 0, headed-1), part(dtype.Uint64, headed-1, 1), part(dtype.Int64, headed, samples)
	if s.pinned, err = r.device.Pinned(size); err != nil {
		return nil, err
	}
	if s.copied, err = made(r, r.device.NewMark); err == nil {
		s.used, err = made(r, r.device.NewMark)
	}
	return s, err
}

func roomFor(d storage.Device, f dataset.Field, samples int) (storage.Array, error) {
	return storage.Make(d, f.Type, append([]int{samples}, f.Shape...)...)
}

// begin returns the next slot, with the head and rows, and what fill copies to
// it, on their way. What the device is asked for from now on waits for them.
func (r *ring) begin(rows []int, fill func(s *slot) error) (*slot, error) {
	s := r.slots[r.next]
	r.next = (r.next + 1) % len(r.slots)
	for _, step := range []func() error{
		s.copied.Wait, // then its pinned memory can be written
		func() error { return r.copies.After(s.used) },
		func() error { return r.copies.Upload(s.dials.Data, 0, s.pinned, s.write(r.head(), rows)) },
		func() error { return fill(s) },
		func() error { return r.copies.Mark(s.copied) },
		func() error { return r.device.Work().After(s.copied) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// end says that all has been asked for that the slot is needed for.
func (r *ring) end(s *slot) error { return r.device.Work().Mark(s.used) }

// write fills s's pinned memory, and returns how many bytes of it count.
func (s *slot) write(h head, rows []int) int {
	bytes := s.pinned.Bytes()
	copy(dtype.Cast[float64](bytes), h.dials[:])
	dtype.Cast[uint64](bytes)[headed-1] = h.stream
	to := dtype.Cast[int64](bytes)[headed:]
	for i, row := range rows {
		to[i] = int64(row)
	}
	return 8 * (headed + len(rows))
}

// idle waits until all copies are done, so that what they are from can be reused.
func (r *ring) idle() error {
	for _, s := range r.slots {
		if err := s.copied.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (r *ring) close() error {
	failed := []error{r.idle(), r.device.Sync()}
	for _, s := range r.slots {
		if s.replay != nil {
			failed = append(failed, s.replay.Close())
		}
	}
	for _, it := range slices.Backward(r.made) {
		failed = append(failed, it.Close())
	}
	return errors.Join(failed...)
}

// A streamed feed copies each batch to the ring as it is read.
type streamed struct {
	*ring
	run    *Run
	loader *dataset.Loader
}

func (f *streamed) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		defer f.idle() // a copy that fails, fails the next step too
		var b batch
		for from, err := range f.loader.Epoch(ctx, number, start) {
			if err == nil {
				err = f.bring(&b, from)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&b, nil) {
				return
			}
			if err := f.end(b.slot); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// bring makes b what from is, on the device.
func (f *streamed) bring(b *batch, from *dataset.Batch) error {
	if err := f.run.checkLabels(from); err != nil {
		return err
	}
	s, err := f.begin(nil, func(s *slot) error {
		if err := f.copy(s.x, from.Fields[0]); err != nil {
			return err
		}
		return f.copy(s.y, from.Fields[1])
	})
	if err != nil {
		return err
	}
	n := len(from.Rows)
	*b = batch{x: rows(s.x, 0, n), y: rows(s.y, 0, n), n: n, next: from.Next, waited: from.Waited, slot: s}
	return nil
}

func (f *streamed) copy(to, from storage.Array) error {
	return f.copies.Upload(to.Data, 0, from.Data.(storage.Host), from.Len()*from.Type.Size())
}

// A resident feed has all samples on the device, and says which are next.
type resident struct {
	*ring
	x, y  storage.Array
	order *dataset.Loader
}

// moveIn copies all samples of d to the device.
func (f *fitting) moveIn(ctx context.Context, r *ring, d dataset.Dataset, o dataset.Options) (*resident, error) {
	there := &resident{ring: r, order: f.train}
	var err error
	for i, to := range []*storage.Array{&there.x, &there.y} {
		if *to, err = roomFor(f.Device, d.Fields()[i], d.Len()); err != nil {
			return nil, fmt.Errorf("keep %d samples on %v: %w; stream them, by --resident no", d.Len(), f.Device, err)
		}
	}
	o.Shuffle, o.Window, o.Batch = dataset.None, 0, evaluated
	for b, err := range dataset.Load(ctx, d, o) {
		if err == nil {
			err = f.checkLabels(b)
		}
		for i, to := range []storage.Array{there.x, there.y} {
			if err == nil {
				err = b.Fields[i].CopyTo(rows(to, b.Rows[0], b.Rows[0]+len(b.Rows)))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return there, nil
}

func (f *resident) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		var b batch
		for picked, next := range f.order.Rows(number, start) {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			s, err := f.begin(picked, func(*slot) error { return nil })
			if err != nil {
				yield(nil, err)
				return
			}
			b = batch{x: f.x, y: f.y, rows: rows(s.rows, 0, len(picked)), n: len(picked), next: next, slot: s}
			if !yield(&b, nil) {
				return
			}
			if err := f.end(s); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
