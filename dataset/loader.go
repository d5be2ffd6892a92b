package dataset

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Loader yields the epochs of a Dataset batch by batch, reading ahead. Decoded
// blocks stay cached for later epochs if all of them fit into the memory limit.
type Loader struct {
	dataset Dataset
	options Options // as they were given

	d      reader
	o      Options
	plan   Plan
	fields []Field // of batches

	decoded bool // samples are decoded or converted as they are read

	blocks  blocks
	ahead   int         // blocks of remote files that are fetched before they are read
	cache   *blockCache // of decoded blocks; nil if samples are read from d
	batches []*Batch
	busy    atomic.Bool
}

// NewLoader plans the loading of d. Epoch and Start of o are left to Loader.Epoch.
func NewLoader(d Dataset, o Options) (_ *Loader, err error) {
	defer panics.Recover(&err)
	if err := check(d); err != nil {
		return nil, err
	}
	given := o
	if o, err = o.withDefaults(d.Len()); err != nil {
		return nil, err
	}
	from := readerOf(d)
	fields, err := o.stageFields(from.Fields())
	if err != nil {
		return nil, err
	}
	o.stageBytes = stageBytes(from.Fields(), fields)
	p, err := newPlanner(from.describe(), o)
	if err != nil {
		return nil, err
	}
	l := &Loader{dataset: d, options: given, d: from, o: o, plan: p.plan, fields: fields, decoded: p.d.Decoded, blocks: p.blocks, ahead: p.blocksAhead()}
	if p.plan.CachedBlocks > 0 {
		l.cache = newBlockCache(from, p.blocks, p.rows, p.plan)
	}
	if o.OrderOnly {
		return l, nil
	}
	if err := l.allocBatches(); err != nil {
		return nil, err
	}
	return l, nil
}

// check refuses datasets that no batch holds samples of.
func check(d Dataset) error {
	if d == nil {
		return fmt.Errorf("dataset: no dataset (nil): %w", storage.ErrState)
	}
	if n := d.Len(); n < 0 {
		return fmt.Errorf("dataset: %T has %d samples: %w", d, n, views.ErrShape)
	}
	for _, f := range d.Fields() {
		if slices.ContainsFunc(f.Shape, func(n int) bool { return n < 0 }) {
			return fmt.Errorf("dataset: samples of %s are %v: %w", f.Name, f.Shape, views.ErrShape)
		}
		if f.Type.Size() == 0 || int(f.Role) >= len(roles) {
			return fmt.Errorf("dataset: %s has the type %v and the role %d: %w", f.Name, f.Type, f.Role, dtype.ErrType)
		}
	}
	return nil
}

// allocBatches makes batches until there are as many as may be in flight.
func (l *Loader) allocBatches() error {
	for len(l.batches) < l.plan.InFlight {
		b, err := l.newStagedBatch(min(l.o.BatchSize, l.d.Len()))
		if err != nil {
			return err
		}
		l.batches = append(l.batches, b)
	}
	return nil
}

// Load yields the batches of one epoch, as NewLoader and Loader.Epoch do.
func Load(ctx context.Context, d Dataset, o Options) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		l, err := NewLoader(d, o)
		if err != nil {
			yield(nil, err)
			return
		}
		l.Epoch(ctx, o.Epoch, o.Start)(yield)
	}
}

// Dataset returns the dataset that l loads.
func (l *Loader) Dataset() Dataset { return l.dataset }

// Options returns the options that l was made with.
func (l *Loader) Options() Options { return l.options }

// Plan returns how the loader loads: order, window and memory.
func (l *Loader) Plan() Plan { return l.plan }

// Fields returns the fields of each batch.
func (l *Loader) Fields() []Field { return slices.Clone(l.fields) }

// Epoch yields the batches of an epoch that come after the first start samples
// of this rank's share. The order is the same wherever it starts.
//
// A batch is valid until the loop takes the next one, or for Options.Lifetime more
// iterations, or as long as the caller likes after Batch.Retain. An error comes with
// the batch that it belongs to, whose fields are then undefined; the loop may go on.
// When ctx is done, the batch is nil and the last. No goroutine outlives the loop.
func (l *Loader) Epoch(ctx context.Context, epoch, start int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if start < 0 || start > l.plan.Samples || l.o.OrderOnly {
			yield(nil, fmt.Errorf("dataset: start after %d of %d samples, order only %v: %w", start, l.plan.Samples, l.o.OrderOnly, storage.ErrState))
			return
		}
		if !l.o.batching(l.d.Len()).starts(start) {
			yield(nil, fmt.Errorf("dataset: start after %d samples, in the middle of a batch of %d, whose shards have equal parts: %w", start, l.o.BatchSize, storage.ErrState))
			return
		}
		if !l.busy.CompareAndSwap(false, true) {
			yield(nil, fmt.Errorf("dataset: the loader is in the middle of another epoch; make a second one: %w", storage.ErrState))
			return
		}
		defer l.busy.Store(false)
		if err := l.allocBatches(); err != nil {
			yield(nil, err)
			return
		}
		r := l.startEpoch(ctx, epoch, start)
		defer r.stop()
		var live []*Batch
		for {
			b, err := r.take()
			if b == nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(b, err) {
				l.reclaim(b)
				return
			}
			if b, err = l.reclaim(b); err != nil {
				yield(nil, err)
				return
			}
			if live = append(live, b); len(live) > l.o.Lifetime {
				r.recycle(live[0])
				live = slices.Delete(live, 0, 1)
			}
		}
	}
}

// Order yields the rows of each batch of Epoch, and how many samples of the epoch are
// consumed after it. Nothing is read; the rows are valid until the next iteration.
func (l *Loader) Order(epoch, start int) iter.Seq2[[]int, int] {
	return func(yield func(rows []int, next int) bool) {
		o, rows := l.order(epoch), make([]int, l.o.BatchSize)
		for end := l.limit(start); start < end; {
			n := min(l.o.BatchSize, end-start)
			fillRows(o, rows[:n], start)
			if start += n; !yield(rows[:n], start) {
				return
			}
		}
	}
}

// Parts returns how many samples each shard of the rank has in the batch that begins after start samples. The samples of
// the first shard come first.
func (l *Loader) Parts(start int) []int {
	b := l.o.batching(l.d.Len())
	first, parts := start/len(b.shares), make([]int, len(b.shares))
	for i, s := range b.shares {
		parts[i] = max(0, min(b.part, s.len()-first))
	}
	return parts
}

// order returns the order of an epoch.
func (l *Loader) order(epoch int) order {
	key := mix(l.o.Seed, mix(epochKey, uint64(epoch)))
	b := l.o.batching(l.d.Len())
	if l.plan.Window > 0 {
		windows := make([]*windowOrder, len(b.shares))
		for i, s := range b.shares {
			windows[i] = newWindowOrder(l.blocks, l.plan.Window, key, l.plan.Shuffle == None, s, l.o.Shards)
		}
		if len(windows) == 1 {
			return windows[0]
		}
		return newShardedOrder(b, windows)
	}
	o := permutedOrder{batching: b, permutation: permute(l.d.Len(), key), shuffled: l.plan.Shuffle != None}
	if l.cache != nil {
		o.blocks = l.blocks.count()
	}
	return o
}

// limit returns the position after the last batch of an epoch that begins at start.
func (l *Loader) limit(start int) int {
	if !l.o.DropLast {
		return l.plan.Samples
	}
	least := l.d.Len() / l.o.Shards * l.o.local() // of any rank
	return start + max(0, least-start)/l.o.BatchSize*l.o.BatchSize
}

// Retain makes b the caller's for good. The loader makes another in its place.
func (b *Batch) Retain() { b.retained = true }

// reclaim takes back a batch after its iteration, or makes one in its place.
func (l *Loader) reclaim(b *Batch) (*Batch, error) {
	if !b.retained {
		return b, nil
	}
	l.batches = slices.DeleteFunc(l.batches, func(other *Batch) bool { return other == b })
	if err := l.allocBatches(); err != nil {
		return nil, err
	}
	return l.batches[len(l.batches)-1], nil
}
