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
type feed interface {
	// epoch yields what comes after the first start samples of an epoch. A batch
	// is valid until the next is taken; an error is the last that comes.
	epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error]
	close() error
}

// A batch is n samples on the run's device.
type batch struct {
	x, y   storage.Array // the samples, or all there are
	rows   storage.Array // which of all they are, as int64; of no storage if x and y are the batch
	n      int
	next   int // samples of the epoch that are consumed with them
	waited time.Duration
	slot   *slot // where else it has memory on the device; nil on the host
}

// open makes the feed of what is trained on, and its loader.
func (f *fitting) open(ctx context.Context, data *Data, loading dataset.Options) error {
	device, streams := f.Device.(storage.Streaming)
	resident, err := f.resides(device, data)
	if err != nil {
		return err
	}
	if streams && !resident {
		loading.Alloc, loading.Held = device.Pinned, slots
	}
	if f.train, err = dataset.NewLoader(data.Train, loading); err != nil {
		return err
	}
	if !streams {
		f.feed = hosted{f.Run, f.train}
		return nil
	}
	r, err := newRing(device, f.train.Fields(), f.Config.Batch, resident, f.head)
	if err != nil {
		return err
	}
	f.feed = &streamed{r, f.Run, f.train}
	if !resident {
		return nil
	}
	there, err := f.moveIn(ctx, r, data.Train, loading)
	if err == nil {
		f.feed = there
	}
	return err
}

// resides reports whether all samples are to be kept on the device: by default,
// where they take no more than half of the memory that is free.
func (f *fitting) resides(device storage.Streaming, data *Data) (bool, error) {
	choice := f.Config.Data.Resident
	if device == nil || choice != auto {
		return choice == yes, nil
	}
	free, err := device.Available()
	bytes := 0.0
	for _, field := range data.Train.Fields() {
		bytes += float64(data.Train.Len()) * float64(views.Of(field.Shape...).Len()*field.Type.Size())
	}
	return bytes <= float64(free)/2, err
}

// hosted batches are computed on where they are read to.
type hosted struct {
	run    *Run
	loader *dataset.Loader
}

func (h hosted) epoch(ctx context.Context, number, start int) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		var b batch
		for from, err := range h.loader.Epoch(ctx, number, start) {
			if err == nil {
				err = h.run.checkLabels(from)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			b = batch{x: from.Fields[0], y: from.Fields[1], n: len(from.Rows), next: from.Next, waited: from.Waited}
			if !yield(&b, nil) {
				return
			}
		}
	}
}

func (hosted) close() error { return nil }

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
