package dataset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

// A run is one epoch on its way: workers fill free batches, each the next in
// order, and the loop takes them in order. A loop that would have to wait
// works itself.
type epochRun struct {
	l      *Loader
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	start, limit int       // positions
	from         reader    // of what batches are filled, without a feed
	feed         *pipeline // if there is one, it fills batches
	free         chan *Batch
	filled       []chan *Batch // batch i of the run is handed over in filled[i%len]
	taken        int           // batches the loop has had

	order order // used under a lock, but for a free one
	begun int   // batches that were given their samples

	lock      sync.Mutex
	expected  int      // blocks at places of the order's line before it were asked for
	forgotten int      // and before it are not needed any more
	unread    []*Batch // that have samples, but not yet their values
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
		r.release(b)
	}
	return r
}

// begin starts the workers, which read batches, from the dataset or where all of
// it lies decoded, or else feed them with blocks.
func (r *epochRun) begin() {
	l, work := r.l, r.fillAll
	r.from = l.d
	if l.slots != nil {
		l.slots.forget()
		r.from = l.slots.table()
	}
	if r.start < r.limit {
		r.expected, _, _ = r.order.round(r.start)
		r.forgotten = r.expected
	}
	if r.from == nil {
		r.feed = l.slots.feed(r)
		work = r.feed.work
	}
	for range l.o.Workers {
		r.work.Go(work)
	}
}

// stop ends the workers and waits for them.
func (r *epochRun) stop() {
	r.cancel()
	r.work.Wait()
	if r.asks() {
		r.forget(r.expected)
	}
	if r.feed != nil {
		r.feed.unset()
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
	if r.feed != nil {
		return r.feed.help(false)
	}
	select {
	case b := <-r.free:
		return r.fill(b)
	default:
		return false
	}
}

// release takes a batch that is free.
func (r *epochRun) release(b *Batch) {
	r.free <- b
	if r.feed != nil {
		r.feed.wake()
	}
}

// next makes b the next batch of the run, which begins at pos, if there is one.
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
		order.deal(b.Rows, b.Consumed-len(b.Rows)) // nobody else needs to wait for that
	}
	r.begins(b)
	b.err = r.from.scatter(*b, len(b.Rows), b.Rows, nil)
	r.ends(b)
	r.deliver(b)
	return true
}

// claim makes b the next batch, with its samples but for those of a free order.
func (r *epochRun) claim(b *Batch) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	pos, ok := r.next(b)
	if _, free := r.order.(permutedOrder); free || !ok {
		return ok
	}
	b.from, _, _ = r.order.round(pos)
	deal(r.order, b.Rows, pos)
	_, b.to, _ = r.order.round(b.Consumed - 1)
	if r.asks() {
		r.unread = append(r.unread, b)
	}
	return true
}

// deliver hands b over in its turn.
func (r *epochRun) deliver(b *Batch) {
	index := (b.Consumed - len(b.Rows) - r.start) / r.l.o.Batch
	r.filled[index%len(r.filled)] <- b
}

// asks reports whether files are told which blocks come next, because samples are
// read out of them that need not be in memory yet.
func (r *epochRun) asks() bool { return r.l.plan.Window > 0 && r.l.slots == nil }

// begins asks for the blocks that b needs, and some beyond.
func (r *epochRun) begins(b *Batch) {
	if !r.asks() {
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for to := min(b.to+lookahead*r.l.o.Workers, r.order.line()); r.expected < to; r.expected++ {
		r.eachRange(r.expected, func(file storage.Uncompressed, at, n int) { file.Prefetch(at, n, r.l.plan.KeepPages) })
	}
}

// ends forgets the blocks that no batch needs any more.
func (r *epochRun) ends(b *Batch) {
	if !r.asks() {
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.unread = slices.DeleteFunc(r.unread, func(other *Batch) bool { return other == b })
	from := b.from
	for _, other := range r.unread {
		from = min(from, other.from)
	}
	r.forget(from)
}

// forget gives up the blocks at places of the line before to.
func (r *epochRun) forget(to int) {
	for ; r.forgotten < to; r.forgotten++ {
		r.eachRange(r.forgotten, storage.Uncompressed.Release)
	}
}

// eachRange visits the parts of files in which the block at a place of the line lies.
func (r *epochRun) eachRange(place int, visit func(file storage.Uncompressed, at, n int)) {
	block := r.order.block(place)
	r.l.d.eachRange(r.l.blocks.start(block), r.l.blocks.ends[block], visit)
}
