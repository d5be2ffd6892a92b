package dataset

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// A run is one epoch on its way: workers fill free batches, each the next in
// order, and the loop takes them in order.
type run struct {
	l      *Loader
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	order        order
	start, limit int // positions
	feed         *feed
	free         chan *Batch
	filled       []chan *Batch // batch i of the run is handed over in filled[i%len]
	claimed      atomic.Int64  // batches that have a worker
	taken        int           // batches the loop has had
}

func (l *Loader) run(ctx context.Context, epoch, start int) *run {
	r := &run{l: l, order: l.order(epoch), start: start, limit: l.limit(start)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.free = make(chan *Batch, len(l.batches))
	for _, b := range l.batches {
		r.free <- b
		r.filled = append(r.filled, make(chan *Batch, 1))
	}
	fillers := l.o.Workers
	if l.slots != nil {
		r.feed = l.slots.feed(r.ctx, r.order, start, r.limit)
		for range l.o.Workers {
			r.work.Go(r.feed.read)
		}
		fillers = 1 // it copies out of slots, in order
	}
	for range fillers {
		r.work.Go(r.fill)
	}
	return r
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
	var b *Batch
	waited := waiting(func() {
		select {
		case b = <-r.filled[r.taken%len(r.filled)]:
		case <-r.ctx.Done():
		}
	})
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	r.taken++
	b.Waited = waited
	if b.err != nil {
		return b, fmt.Errorf("dataset: samples %d to %d of the epoch: %w", b.Next-len(b.Rows), b.Next-1, b.err)
	}
	return b, nil
}

// fill fills batches until there are no more.
func (r *run) fill() {
	for {
		var b *Batch
		select {
		case b = <-r.free:
		case <-r.ctx.Done():
			return
		}
		index := int(r.claimed.Add(1)) - 1
		pos := r.start + index*r.l.o.Batch
		if pos >= r.limit {
			return
		}
		n := min(r.l.o.Batch, r.limit-pos)
		b.trim(n)
		b.Next = pos + n
		if r.feed != nil {
			b.err = r.feed.fill(b, pos)
		} else {
			r.order.deal(b.Rows, pos)
			b.err = r.l.d.scatter(*b, n, b.Rows, nil)
		}
		r.filled[index%len(r.filled)] <- b
	}
}
