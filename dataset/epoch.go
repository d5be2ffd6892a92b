package dataset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

// An epochRun loads one epoch: workers fill free batches, each the next in order,
// and the loop takes them in order. A loop that would have to wait does the work
// of a worker.
type epochRun struct {
	l      *Loader
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	start, limit int       // positions
	from         reader    // that batches are read from; nil if there is a pipeline
	pipeline     *pipeline // that fills batches from decoded blocks; nil if they are read directly
	free         chan *Batch
	filled       []chan *Batch // batch i is delivered in filled[i%len(filled)]
	taken        int           // batches that the loop has taken

	order order // guarded by a lock, unless it is a permutedOrder
	begun int   // batches whose samples are assigned

	lock       sync.Mutex
	prefetched int      // places before it were prefetched
	released   int      // places before it were released
	reading    []*Batch // batches that are being read
}

func (l *Loader) startEpoch(ctx context.Context, epoch, start int) *epochRun {
	r := &epochRun{l: l, order: l.order(epoch), start: start, limit: l.limit(start)}
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

// begin starts the workers. They read batches from the dataset, or from memory if
// all of it is cached, or else run the pipeline.
func (r *epochRun) begin() {
	l, work := r.l, r.fillAll
	r.from = l.d
	if l.cache != nil {
		l.cache.endEpoch()
		r.from = l.cache.table()
	}
	if r.start < r.limit {
		r.prefetched, _, _ = r.order.round(r.start)
		r.released = r.prefetched
	}
	if r.from == nil {
		r.pipeline = l.cache.newPipeline(r)
		work = r.pipeline.work
	}
	for range l.o.Workers {
		r.work.Go(work)
	}
}

// stop ends the workers and waits for them.
func (r *epochRun) stop() {
	r.cancel()
	r.work.Wait()
	if r.prefetches() {
		r.releaseBlocks(r.released, r.prefetched)
	}
	if r.pipeline != nil {
		r.pipeline.stopWaking()
	}
	if r.l.trial != nil {
		r.l.trial.endEpoch()
	}
}

// take returns the next batch and its error, or only an error if ctx is done, or
// nothing after the last batch.
func (r *epochRun) take() (*Batch, error) {
	if r.start+r.taken*r.l.o.Batch >= r.limit {
		return nil, nil
	}
	began := time.Now()
	b := r.wait()
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
	if r.pipeline != nil {
		return r.pipeline.step(false)
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
	if r.pipeline != nil {
		r.pipeline.wake()
	}
}

// next makes b the next batch, which begins at pos, if there is one.
func (r *epochRun) next(b *Batch) (pos int, ok bool) {
	pos = r.start + r.begun*r.l.o.Batch
	if pos >= r.limit {
		return 0, false
	}
	r.begun++
	n := min(r.l.o.Batch, r.limit-pos)
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
	end := r.l.trial.watch(b)
	r.prefetchFor(b)
	b.err = r.from.scatter(*b, len(b.Rows), b.Rows, nil)
	r.releaseAfter(b)
	end()
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
	b.from, _, _ = r.order.round(pos)
	fillRows(r.order, b.Rows, pos)
	_, b.to, _ = r.order.round(b.Consumed - 1)
	if r.prefetches() {
		r.reading = append(r.reading, b)
	}
	return true
}

// deliver passes b to the loop, which takes batches in order.
func (r *epochRun) deliver(b *Batch) {
	index := (b.Consumed - len(b.Rows) - r.start) / r.l.o.Batch
	r.filled[index%len(r.filled)] <- b
}

// prefetches reports whether blocks are prefetched: where an order opens blocks and
// samples are read from files without decoding.
func (r *epochRun) prefetches() bool { return r.l.plan.Window > 0 && r.l.cache == nil }

// prefetchFor prefetches the blocks that b needs, and some beyond.
func (r *epochRun) prefetchFor(b *Batch) {
	if !r.prefetches() {
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for to := min(b.to+lookahead*r.l.o.Workers, r.order.numBlocks()); r.prefetched < to; r.prefetched++ {
		keep := r.l.trial != nil && r.l.trial.mapped(r.prefetched)
		r.eachRange(r.prefetched, func(file storage.Uncompressed, at, n int) { file.Prefetch(at, n, keep) })
	}
}

// releaseAfter releases the blocks that no batch needs after b.
func (r *epochRun) releaseAfter(b *Batch) {
	if !r.prefetches() {
		return
	}
	r.lock.Lock()
	r.reading = slices.DeleteFunc(r.reading, func(other *Batch) bool { return other == b })
	from, to := r.released, b.from
	for _, other := range r.reading {
		to = min(to, other.from)
	}
	r.released = max(from, to)
	r.lock.Unlock()
	r.releaseBlocks(from, to)
}

// releaseBlocks releases the blocks at places from to to-1.
func (r *epochRun) releaseBlocks(from, to int) {
	for place := from; place < to; place++ {
		r.eachRange(place, storage.Uncompressed.Release)
	}
}

// eachRange visits the ranges of files that hold the block at a place.
func (r *epochRun) eachRange(place int, visit func(file storage.Uncompressed, at, n int)) {
	block := r.order.blockAt(place)
	r.l.d.eachRange(r.l.blocks.start(block), r.l.blocks.ends[block], visit)
}
