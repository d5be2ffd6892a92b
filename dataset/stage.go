package dataset

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Stage changes the samples of a batch after they are read, each time that they are read, as augmentation does.
// What is cached of a dataset is not changed. The workers of a loader call Apply concurrently.
type Stage interface {
	// Output returns the fields of the samples that Apply makes of samples with these fields: as many, in the same order.
	// Types and shapes may differ.
	Output(fields []Field) ([]Field, error)
	// Apply makes the samples at rows of the dataset, in an epoch, from samples of one shard of a batch. The arrays are
	// contiguous host memory whose first axis counts samples. A field that Output leaves as it is has the same memory in
	// both. The result for a sample may depend on all of them, and not on the number of workers or earlier calls.
	Apply(to, from []storage.Array, epoch int, rows []int) error
}

// stageFields returns the fields of the batches that o makes of samples with these fields.
func (o Options) stageFields(fields []Field) (out []Field, err error) {
	if o.Stage == nil {
		return fields, nil
	}
	defer panics.Recover(&err)
	out, err = o.Stage.Output(slices.Clone(fields))
	if err == nil && len(out) != len(fields) {
		err = fmt.Errorf("dataset: %T makes %d fields of %d; want as many: %w", o.Stage, len(out), len(fields), views.ErrShape)
	}
	return out, err
}

// stageBytes returns the memory that a stage takes for each sample of a batch, besides the sample.
func stageBytes(fields, out []Field) (n int) {
	for i, f := range out {
		if !f.Equal(fields[i]) {
			n += f.bytes()
		}
	}
	return n
}

// newStagedBatch allocates a batch for samples of d, and for those that the stage makes of them.
func (l *Loader) newStagedBatch(samples int) (*Batch, error) {
	read := l.d.Fields()
	b, err := newBatchOf(read, samples, func(i int) allocator {
		if read[i].Equal(l.fields[i]) {
			return l.o.Alloc
		}
		return nil
	})
	if err != nil || l.o.Stage == nil {
		return b, err
	}
	b.staged = slices.Clone(b.whole)
	b.fields = l.fields
	for i, f := range l.fields {
		if !f.Equal(read[i]) {
			if b.staged[i], err = f.alloc(samples, l.o.Alloc); err != nil {
				return nil, fmt.Errorf("dataset: allocate %d samples of %v: %w", samples, f, err)
			}
		}
	}
	return b, nil
}

// apply runs the stage on the samples of b that were read, shard by shard.
func (l *Loader) apply(b *Batch, epoch int) (err error) {
	defer trace.Begin(trace.Augmenting, "batch", -1).End()
	defer panics.Recover(&err)
	to, from := make([]storage.Array, len(b.whole)), make([]storage.Array, len(b.whole))
	first := 0
	for _, n := range l.Parts(b.Consumed - len(b.Rows)) {
		if n = min(n, len(b.Rows)-first); n < 1 {
			continue
		}
		for i := range to {
			to[i], from[i] = b.staged[i].With(samples(b.staged[i].View, first, n)), b.whole[i].With(samples(b.whole[i].View, first, n))
		}
		if err := l.o.Stage.Apply(to, from, epoch, b.Rows[first:first+n]); err != nil {
			return err
		}
		first += n
	}
	for i, a := range b.staged {
		b.Fields[i] = a.With(samples(a.View, 0, len(b.Rows)))
	}
	return nil
}
