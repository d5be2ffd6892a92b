package train

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A feed brings batches to where they are computed on.
type batchSource interface {
	// epoch yields what comes after the first start samples of an epoch. A batch
	// is valid until the next is taken; an error is the last that comes.
	epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error]
	// waited tells how long the epoch's computation has waited for batches; once
	// it is settled, for all of them.
	waited() (time.Duration, error)
	close() error
}

// A batch is n samples where they are computed on.
type batch struct {
	fields []storage.Array // x and y, if there is one: of the samples, or all there are
	rows   storage.Array   // which of all they are, as int64; of no storage if fields are the batch
	n      int
	next   int   // samples of the epoch that are consumed with them
	slot   *slot // where else it has memory on the device; nil on the host
}

// checked is a look at a batch before it is used; nil is none.
type batchCheck func(*dataset.Batch) error

func (c batchCheck) run(b *dataset.Batch) error {
	if c == nil {
		return nil
	}
	return c(b)
}

// newFeed returns a feed of d for a device: through a ring, if there can be one.
func newBatchSource(device storage.Device, d dataset.Dataset, o dataset.Options, check batchCheck) (batchSource, *dataset.Loader, error) {
	streaming, streams := device.(storage.AsyncDevice)
	if streams {
		o.Alloc, o.Lifetime = streaming.AllocPinned, ringSize
	}
	l, err := dataset.NewLoader(d, o)
	if err != nil {
		return nil, nil, err
	}
	if !streams {
		return &hostSource{loader: l, check: check}, l, nil
	}
	r, err := newRing(streaming, l.Fields(), min(o.Batch, d.Len()))
	if err != nil {
		return nil, nil, err
	}
	return &streamedSource{ring: r, loader: l, check: check}, l, nil
}

// A hosted feed's batches are computed on where they are read to.
type hostSource struct {
	loader *dataset.Loader
	check  batchCheck
	wait   time.Duration
}

func (h *hostSource) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		h.wait = 0
		var b batch
		for from, err := range h.loader.Epoch(ctx, number, start) {
			if err == nil {
				err = h.check.run(from)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			h.wait += from.Waited
			b = batch{fields: from.Fields, n: len(from.Rows), next: from.Consumed}
			if !yield(&b, nil) {
				return
			}
		}
	}
}

func (h *hostSource) waited() (time.Duration, error) { return h.wait, nil }

func (*hostSource) close() error { return nil }

// open makes the feed of what is trained on, and its loader.
func (f *trainer) openSource(ctx context.Context, data *Data, loading dataset.Options) (err error) {
	device, _ := f.Device.(storage.AsyncDevice)
	if f.plan.Resident, err = f.keepResident(device, data); err != nil {
		return err
	}
	if f.plan.Resident {
		return f.openResident(ctx, device, data.Train, loading)
	}
	if f.source, f.loader, err = newBatchSource(f.Device, data.Train, loading, f.checkLabels); err != nil {
		return err
	}
	if err := f.checkSamples(); err != nil {
		return err
	}
	if s, ok := f.source.(*streamedSource); ok {
		s.args, err = f.newArgs(s.ring)
	}
	return err
}

// resides reports whether all samples are to be kept on the device: by default,
// where they take no more than half of the memory that is free.
func (f *trainer) keepResident(device storage.AsyncDevice, data *Data) (bool, error) {
	choice := f.Config.Data.Resident
	if device == nil || choice != auto {
		return choice == yes, nil
	}
	free, err := device.FreeMemory()
	return dataset.Bytes(data.Train) <= float64(free)/2, err
}

// checkLabels refuses labels that are none of the classes where they become rows
// of zeros and a one; the losses of labels look for themselves.
func (r *Run) checkLabels(b *dataset.Batch) error {
	if !r.Config.Data.OneHot {
		return nil
	}
	labels, err := storage.Read[int64](b.Fields[1])
	if err != nil {
		return err
	}
	for i, label := range labels {
		if label < 0 || label >= int64(r.Config.Classes) {
			return fmt.Errorf("one hot: label %d of sample %d; there are %d classes: %w", label, b.Rows[i], r.Config.Classes, views.ErrShape)
		}
	}
	return nil
}
