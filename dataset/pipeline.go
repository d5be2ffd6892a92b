package dataset

import (
	"context"
	"slices"
	"sync"
)

// A feed is the passage of an epoch's blocks through the slots into batches. Its
// workers all do whatever is next: gather samples whose blocks are there, or else
// decode the next block in line. The block at place p may be decoded once the one
// len(slots.all) places before it is done with.
type pipeline struct {
	*blockCache
	r     *epochRun
	unset func() bool

	lock  sync.Mutex
	turn  sync.Cond
	next  int    // place to decode next
	ready int    // places before it lie in slots
	last  int    // places before it are needed
	pos   int    // samples before it are gathered, or being gathered
	open  *Batch // the one that sample pos goes to, if it is begun
	busy  []part
}

// A part is samples of a batch that one worker gathers.
type part struct {
	b       *Batch
	at, end int // its places in b
	from    int // places of the line before it are not needed for it
}

// feed prepares the positions of r.
func (s *blockCache) feed(r *epochRun) *pipeline {
	f := &pipeline{blockCache: s, r: r, pos: r.start}
	f.turn.L = &f.lock
	if r.start < r.limit {
		f.next, _, _ = r.order.round(r.start)
		f.ready = f.next
		_, f.last, _ = r.order.round(r.limit - 1)
	}
	f.unset = context.AfterFunc(r.ctx, f.wake)
	return f
}

// wake makes workers that wait look again.
func (f *pipeline) wake() {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.turn.Broadcast()
}

// work does what there is to do until all samples are in batches, or the context is done.
func (f *pipeline) work() {
	for f.help(true) {
	}
}

// help gathers samples or decodes a block, and reports whether it did. It may
// wait until there is something to do.
func (f *pipeline) help(wait bool) bool {
	p, at, block := f.find(wait)
	switch {
	case p.b != nil:
		f.finish(p, f.gather(p.b, p.at, p.b.Rows[p.at:p.end]))
	case at != nil:
		f.arrive(at, block, f.decode(at, block))
	default:
		return false
	}
	return true
}

// find returns samples to gather or a block to decode, or neither: if there is
// nothing to do yet and it may not wait, or nothing is left.
func (f *pipeline) find(wait bool) (p part, at *cachedBlock, block int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for f.pos < f.r.limit && f.r.ctx.Err() == nil {
		if p, ok := f.deal(); ok {
			return p, nil, 0
		}
		if at, block = f.take(); at != nil || !wait {
			return part{}, at, block
		}
		f.turn.Wait()
	}
	return part{}, nil, 0
}

// deal returns the next samples that can be gathered, of one batch and one round.
func (f *pipeline) deal() (part, bool) {
	from, to, end := f.r.order.round(f.pos)
	for f.ready < to && f.where[f.r.order.block(f.ready)] != nil {
		f.ready++
	}
	if f.ready < to || !f.begin() {
		return part{}, false
	}
	b := f.open
	at := f.pos - (b.Consumed - len(b.Rows))
	p := part{b, at, min(len(b.Rows), at+end-f.pos), from}
	f.r.order.deal(b.Rows[p.at:p.end], f.pos)
	f.busy = append(f.busy, p)
	if f.pos += p.end - p.at; f.pos == b.Consumed {
		f.open = nil
	}
	return p, true
}

// begin makes sure that a batch is open, if there is one free.
func (f *pipeline) begin() bool {
	if f.open != nil {
		return true
	}
	select {
	case b := <-f.r.free:
		f.r.next(b)
		b.missing, b.err = len(b.Rows), nil
		f.open = b
		return true
	default:
		return false
	}
}

// take returns the next block in line that has to be decoded and the slot for
// it, if one is free.
func (f *pipeline) take() (at *cachedBlock, block int) {
	for ; f.next < f.last; f.next++ {
		block = f.r.order.block(f.next)
		if f.where[block] != nil {
			continue
		}
		index := block
		if f.kept == nil {
			if f.next >= f.done()+len(f.all) {
				return nil, 0
			}
			index = f.next % len(f.all)
		}
		f.next++
		return f.vacate(index), block
	}
	return nil, 0
}

// done returns the first place of the line that samples are still gathered from.
func (f *pipeline) done() int {
	done, _, _ := f.r.order.round(f.pos)
	for _, p := range f.busy {
		done = min(done, p.from)
	}
	return done
}

// vacate returns a slot whose block is not needed any more.
func (s *blockCache) vacate(index int) *cachedBlock {
	if s.all[index] == nil {
		s.all[index] = &cachedBlock{block: -1}
	}
	at := s.all[index]
	if at.block >= 0 && s.where[at.block] == at {
		s.where[at.block] = nil
	}
	return at
}

// arrive notes that a block lies in a slot, or why it could not be decoded.
func (f *pipeline) arrive(at *cachedBlock, block int, err error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	at.block, at.start, at.err = block, f.blocks.start(block), err
	f.where[block] = at
	f.turn.Broadcast()
}

// finish hands the batch of a part over, if it was the last one missing.
func (f *pipeline) finish(p part, err error) {
	f.lock.Lock()
	f.busy = slices.DeleteFunc(f.busy, func(q part) bool { return q == p })
	if p.b.err == nil {
		p.b.err = err
	}
	p.b.missing -= p.end - p.at
	whole := p.b.missing == 0
	f.turn.Broadcast()
	f.lock.Unlock()
	if whole {
		f.r.deliver(p.b)
	}
}
