package train

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// A residentSource holds all samples on the device; its batches are lists of rows.
type residentSource struct {
	ring  *ring
	order *dataset.Loader
	args  setArgs
	all   []storage.Array // the samples, by field
	last  batch           // that was yielded
}

// openResident opens the source of d, whose samples it copies to the device, and the
// loader that determines their order.
func (f *trainer) openResident(ctx context.Context, device storage.AsyncDevice, d dataset.Dataset, o dataset.Options) (err error) {
	o.OrderOnly = true
	if f.loader, err = dataset.NewLoader(d, o); err != nil {
		return err
	}
	if err := f.checkSamples(); err != nil {
		return err
	}
	r, err := newRing(device, nil, 0)
	if err != nil {
		return err
	}
	all := make([]storage.Array, len(d.Fields()))
	there := &residentSource{ring: r, order: f.loader, all: all}
	f.source, f.ring = there, r
	for i, field := range d.Fields() {
		if all[i], err = newBatchArray(device, field, d.Len()); err != nil {
			return fmt.Errorf("keep %d samples on %v: %w", d.Len(), device, err)
		}
	}
	if there.args, err = f.newArgs(r, maxStepsPerGraph); err != nil {
		return err
	}
	o.OrderOnly, o.Rank, o.WorldSize = false, 0, 0
	return r.fill(ctx, d, o, all, f.r.checkLabels(f.binding))
}

// uploadBytes is roughly the size of one copy when samples are moved to a device.
const uploadBytes = 4 << 20

// fill copies all samples of d to all.
func (r *ring) fill(ctx context.Context, d dataset.Dataset, o dataset.Options, all []storage.Array, check batchCheck) error {
	each := max(1, int(dataset.Bytes(d)/float64(d.Len())))
	o.Shuffle, o.Window, o.BatchSize = dataset.None, 0, min(max(1, uploadBytes/each), evalBatch)
	o.Alloc, o.Lifetime = r.device.AllocPinned, ringSize
	var l *dataset.Loader
	if err := fitBatch(d, o, func(o dataset.Options) (err error) {
		l, err = dataset.NewLoader(d, o)
		return err
	}); err != nil {
		return err
	}
	sent := func(yield func(*batch, error) bool) {
		for from, err := range l.Epoch(ctx, 0, 0) {
			var b *batch
			if err == nil {
				err = check.run(from)
			}
			if err == nil {
				b, err = r.send(batch{}, func(*batch) error {
					for i, field := range from.Fields {
						if err := r.upload(all[i], from.Rows[0], field); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
	for _, err := range r.serve(sent) {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *residentSource) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		defer f.ring.waitCopies() // an error of a copy is an error of the next step, too
		f.ring.begin()
		for picked, next := range f.order.Order(number, start) {
			b, err := f.batch(ctx, picked, next)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// batch returns a batch of the samples picked, whose step is to be launched by its slot.
func (f *residentSource) batch(ctx context.Context, picked []int, next int) (*batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := f.ring.open()
	if err != nil {
		return nil, err
	}
	f.args(s, s.taken, picked)
	args := s.args.steps[s.taken]
	s.taken++
	f.last = batch{fields: f.all, rows: rows(args.rows, 0, len(picked)), n: len(picked), next: next, slot: s, args: args}
	return &f.last, nil
}

func (f *residentSource) waited() (time.Duration, error) { return f.ring.waited() }
func (f *residentSource) close() error                   { return f.ring.close() }
