package dataset

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/h5dnn/h5dnn/internal/trace"
)

// An epochRun loads one epoch: workers fill free batches, each the next in order,
// and the loop takes them in order. A loop that would have to wait does the work
// of a worker.
type epochRun struct {
	l      *Loader
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	number       int // of the epoch
	start, limit int // positions
	kind         trace.Kind
	from         reader    // that batches are read from, each alone; nil if they are read by block
	byBlock      blockwise // that reads the blocks; nil if batches are read alone
	free         chan *Batch
	filled       []chan *Batch // batch i is delivered in filled[i%len(filled)]
	taken        int           // batches that the loop has taken

	lock  sync.Mutex // where batches are read alone
	order order      // guarded by a lock, unless it is a permutedOrder
	begun int        // batches whose samples are assigned
}

// A blockwise reads the blocks of an epoch, and the samples of batches out of them.
type blockwise interface {
	// step does a part of the work, and reports whether it did. If wait is set, it
	// waits until there is something to do; otherwise the loop calls it, which waits
	// for a batch.
	step(wait bool) bool
	wake() // after a batch was freed
	stop()
}

func (l *Loader) startEpoch(ctx context.Context, epoch, start int) *epochRun {
	r := &epochRun{l: l, number: epoch, order: l.order(epoch), start: start, limit: l.limit(start)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.free = make(chan *Batch, len(l.batches))
	for range l.batches {
		r.filled = append(r.filled, make(chan *Batch, 1))
	}
	r.begin()
	for _, b := range l.batches {
		r.recycle(b)
	}
	return r
}

// begin starts the workers. They read by block, or else batches from the dataset, or from
// memory if all of it is cached.
func (r *epochRun) begin() {
	l, work := r.l, r.fillAll
	switch {
	case l.plan.Scattered:
		r.byBlock = newScattering(r)
	case l.cache != nil:
		l.cache.endEpoch()
		r.kind = trace.Copying
		if r.from = l.cache.table(); r.from == nil {
			r.byBlock = l.cache.newPipeline(r)
		}
	default:
		if r.from, r.kind = l.d, trace.Reading; l.decoded {
			r.kind = trace.Decoding
		}
	}
	if r.byBlock != nil {
		work = r.readBlocks
	}
	for range l.o.Workers {
		r.work.Go(work)
	}
}

// readBlocks reads blocks until nothing is left to do.
func (r *epochRun) readBlocks() {
	for r.byBlock.step(true) {
	}
}

// stop ends the workers and waits for them.
func (r *epochRun) stop() {
	r.cancel()
	r.work.Wait()
	if r.byBlock != nil {
		r.byBlock.stop()
	}
}

// take returns the next batch and its error, or only an error if ctx is done, or
// nothing after the last batch.
func (r *epochRun) take() (*Batch, error) {
	if r.start+r.taken*r.l.o.BatchSize >= r.limit {
		return nil, nil
	}
	began, span := time.Now(), trace.Begin(trace.Waiting, "batch", r.taken)
	b := r.wait()
	span.End()
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	r.taken++
	b.Waited = time.Since(began)
	if b.err != nil {
		return b, fmt.Errorf("dataset: samples %d to %d of the epoch: %w", b.Consumed-len(b.Rows), b.Consumed-1, b.err)
	}
	return b, nil
}

// wait returns the next batch once it is filled, or nil once ctx is done.
func (r *epochRun) wait() *Batch {
	filled := r.filled[r.taken%len(r.filled)]
	for helping := true; helping; helping = r.help() {
		select {
		case b := <-filled:
			return b
		default:
		}
	}
	select {
	case b := <-filled:
		return b
	case <-r.ctx.Done():
		return nil
	}
}

// help does some of the workers' work, if there is any, and reports whether it did.
func (r *epochRun) help() bool {
	if r.ctx.Err() != nil {
		return false
	}
	if r.byBlock != nil {
		return r.byBlock.step(false)
	}
	select {
	case b := <-r.free:
		return r.fill(b)
	default:
		return false
	}
}

// recycle makes b free to be filled again.
func (r *epochRun) recycle(b *Batch) {
	r.free <- b
	if r.byBlock != nil {
		r.byBlock.wake()
	}
}

// next makes b the next batch, which begins at pos, if there is one.
func (r *epochRun) next(b *Batch) (pos int, ok bool) {
	pos = r.start + r.begun*r.l.o.BatchSize
	if pos >= r.limit {
		return 0, false
	}
	r.begun++
	n := min(r.l.o.BatchSize, r.limit-pos)
	b.trim(n)
	b.Consumed = pos + n
	return pos, true
}

// fillAll fills batches until there are no more.
func (r *epochRun) fillAll() {
	for {
		select {
		case b := <-r.free:
			if !r.fill(b) {
				return
			}
		case <-r.ctx.Done():
			return
		}
	}
}

// fill makes b the next batch and reads its samples, if there are any left.
func (r *epochRun) fill(b *Batch) bool {
	if !r.claim(b) {
		return false
	}
	if order, free := r.order.(permutedOrder); free {
		order.fill(b.Rows, b.Consumed-len(b.Rows)) // outside the lock
	}
	span := trace.Begin(r.kind, "batch", -1)
	b.err = scatter(r.from, destination{batch: b}, b.Rows)
	span.End()
	r.deliver(b)
	return true
}

// claim makes b the next batch and sets its rows, except in a permutedOrder.
func (r *epochRun) claim(b *Batch) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	pos, ok := r.next(b)
	if _, free := r.order.(permutedOrder); free || !ok {
		return ok
	}
	fillRows(r.order, b.Rows, pos)
	return true
}

// deliver runs the stage on b, if there is one, and passes it to the loop, which takes batches in order.
func (r *epochRun) deliver(b *Batch) {
	if r.l.o.Stage != nil && b.err == nil {
		b.err = r.l.apply(b, r.number)
	}
	index := (b.Consumed - len(b.Rows) - r.start) / r.l.o.BatchSize
	r.filled[index%len(r.filled)] <- b
}
