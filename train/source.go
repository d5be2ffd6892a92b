package train

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A batchSource yields batches on the device that computes.
type batchSource interface {
	// epoch yields the batches of an epoch after its first start samples. A batch is
	// valid until the next is yielded; an error ends the epoch.
	epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error]
	// waited returns how long the computation has waited for batches of the epoch so
	// far.
	waited() (time.Duration, error)
	close() error
}

// A batch is n samples on the device that computes.
type batch struct {
	fields []storage.Array // in the dataset's order: of the batch or, with rows, of all samples
	rows   storage.Array   // int64, the numbers of the samples in fields; empty if fields are the batch
	n      int
	next   int        // samples of the epoch consumed after this batch
	slot   *slot      // of a ring; nil on the host
	args   stepArrays // in the slot, when training
}

// A batchCheck returns an error if a batch is not valid. nil accepts all.
type batchCheck func(*dataset.Batch) error

func (c batchCheck) run(b *dataset.Batch) error {
	if c == nil {
		return nil
	}
	return c(b)
}

// newBatchSource returns a source of d on a device, and its loader.
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
	r, err := newRing(streaming, l.Fields(), min(o.BatchSize, d.Len()))
	if err != nil {
		return nil, nil, err
	}
	return &streamedSource{ring: r, loader: l, check: check}, l, nil
}

// A hostSource yields batches in the memory that the loader reads them to.
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

// openSource opens the source of the training data, and its loader.
func (f *trainer) openSource(ctx context.Context, data *Data, loading dataset.Options) (err error) {
	device, _ := f.r.Device.(storage.AsyncDevice)
	if f.plan.Resident, err = f.keepResident(device, data, loading.Stage != nil); err != nil {
		return err
	}
	if f.plan.Resident {
		return f.openResident(ctx, device, data.Train, loading)
	}
	if f.given != nil && device == nil {
		f.loader = f.given
		f.source = &hostSource{loader: f.given, check: f.r.checkLabels(f.binding)}
		return f.checkSamples()
	}
	if f.source, f.loader, err = newBatchSource(f.r.Device, data.Train, loading, f.r.checkLabels(f.binding)); err != nil {
		return err
	}
	if err := f.checkSamples(); err != nil {
		return err
	}
	if s, ok := f.source.(*streamedSource); ok && !f.shards.divided() {
		f.ring = s.ring
		s.args, err = f.newArgs(s.ring, 1)
	}
	return err
}

// keepResident reports whether to keep all samples on the device: by default, if they
// take at most half of its free memory.
func (f *trainer) keepResident(device storage.AsyncDevice, data *Data, augmented bool) (bool, error) {
	choice := f.r.Config.Data.Resident
	if augmented {
		if choice == config.Yes {
			return false, fmt.Errorf("resident: samples are augmented by the processor and copied to the GPU batch by batch; leave it out: %w", storage.ErrState)
		}
		return false, nil
	}
	if f.shards.divided() && choice == config.Yes {
		return false, fmt.Errorf("resident: batches of several shards are copied to the GPU one by one; leave it out: %w", storage.ErrState)
	}
	if device == nil || choice != config.Auto || f.shards.divided() {
		return choice == config.Yes, nil
	}
	free, err := device.FreeMemory()
	return dataset.Bytes(data.Train) <= float64(free)/2, err
}

// checkLabels refuses labels that are no integers, and those outside the classes where they
// are one-hot encoded. Losses of labels check integers by themselves.
func (r *Run) checkLabels(by binding) batchCheck {
	if !r.Config.Data.OneHot && !slices.ContainsFunc(by.arrangements, func(a arrangement) bool { return a.labels }) {
		return nil
	}
	return func(b *dataset.Batch) error {
		for i, k := range by.targets {
			if !r.Config.Data.OneHot && !(by.arrangements[i].labels && b.Fields[k].Type.IsFloat()) {
				continue
			}
			labels, err := dataconfig.Labels(b.Fields[k])
			if err != nil {
				return fmt.Errorf("%s: %w", r.targets[i], err)
			}
			for j, label := range labels {
				if !r.Config.Data.OneHot || label == dataconfig.MissingLabel && r.ignoresMissing(i) {
					continue
				}
				if label < 0 || label >= int64(r.Config.Classes) {
					return fmt.Errorf("one hot: label %d of sample %d; there are %d classes: %w", label, b.Rows[j], r.Config.Classes, views.ErrShape)
				}
			}
		}
		return nil
	}
}
