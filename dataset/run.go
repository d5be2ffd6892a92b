package dataset

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A run is one epoch on its way: workers fill free batches, each the next in
// order, and the loop takes them in order. A loop that would have to wait fills
// a batch itself.
type run struct {
	l      *Loader
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	start, limit int       // positions
	from         scatterer // of what batches are filled, without a feed
	feed         *feed     // if there is one, only one worker fills batches
	free         chan *Batch
	filled       []chan *Batch // batch i of the run is handed over in filled[i%len]
	taken        int           // batches the loop has had

	lock     sync.Mutex
	order    order
	claimed  int // batches that somebody has filled or is filling
	expected int // places of the order's line before it were asked for
}

func (l *Loader) run(ctx context.Context, epoch, start int) *run {
	r := &run{l: l, order: l.order(epoch), start: start, limit: l.limit(start)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.free = make(chan *Batch, len(l.batches))
	for _, b := range l.batches {
		r.free <- b
		r.filled = append(r.filled, make(chan *Batch, 1))
	}
	r.begin()
	return r
}

// begin starts the workers, which are of two kinds: those that read batches, from
// the dataset or where all of it lies decoded, and those that decode blocks for
// the one that copies as they arrive.
func (r *run) begin() {
	l, fillers := r.l, r.l.o.Workers
	r.from = l.d
	if l.slots != nil {
		l.slots.forget()
		r.from = l.slots.table()
	}
	if r.start < r.limit {
		r.expected, _, _ = r.order.round(r.start)
	}
	if r.from == nil {
		r.feed = l.slots.feed(r.ctx, r.order, r.start, r.limit)
		for range l.o.Workers {
			r.work.Go(r.feed.read)
		}
		fillers = 1
	}
	for range fillers {
		r.work.Go(r.fillAll)
	}
}

// stop ends the workers and waits for them.
func (r *run) stop() {
	r.cancel()
	r.work.Wait()
	if r.feed != nil {
		r.feed.unset()
	}
}

// next returns the next batch and its error, or only an error if ctx is done, or
// nothing after the last batch.
func (r *run) next() (*Batch, error) {
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
		return b, fmt.Errorf("dataset: samples %d to %d of the epoch: %w", b.Next-len(b.Rows), b.Next-1, b.err)
	}
	return b, nil
}

// wait returns the next batch once it is filled, or nil once ctx is done.
func (r *run) wait() *Batch {
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

// help fills a batch if one is free, and reports whether it did.
func (r *run) help() bool {
	if r.feed != nil || r.ctx.Err() != nil {
		return false
	}
	select {
	case b := <-r.free:
		return r.fill(b)
	default:
		return false
	}
}

// fillAll fills batches until there are no more.
func (r *run) fillAll() {
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

// fill claims the next batch and fills it into b, if there is one.
func (r *run) fill(b *Batch) bool {
	index, ok := r.claim(b)
	if !ok {
		return false
	}
	if r.feed != nil {
		b.err = r.feed.fill(b, b.Next-len(b.Rows))
	} else {
		b.err = r.from.scatter(*b, len(b.Rows), b.Rows, nil)
	}
	r.filled[index%len(r.filled)] <- b
	return true
}

// claim makes b the next batch of the run.
func (r *run) claim(b *Batch) (index int, ok bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	pos := r.start + r.claimed*r.l.o.Batch
	if pos >= r.limit {
		return 0, false
	}
	n := min(r.l.o.Batch, r.limit-pos)
	b.trim(n)
	b.Next = pos + n
	if r.feed == nil {
		deal(r.order, b.Rows, pos)
		r.expect(b.Next - 1)
	}
	r.claimed++
	return r.claimed - 1, true
}

// expect asks for the blocks that the position needs, and some beyond, where
// samples are read out of a file that need not hold them in memory yet.
func (r *run) expect(pos int) {
	if r.l.plan.Window == 0 || r.l.slots != nil {
		return
	}
	_, to, _ := r.order.round(pos)
	for to = min(to+lookahead*r.l.o.Workers, r.order.line()); r.expected < to; r.expected++ {
		block := r.order.block(r.expected)
		expect(r.l.d, r.l.blocks.start(block), r.l.blocks.ends[block])
	}
}
