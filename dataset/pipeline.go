package dataset

import "slices"

// A pipeline decodes the blocks of an epoch into the cache and gathers batches from
// there. Each worker does what is possible next: it gathers samples whose blocks are
// cached, or else decodes the next block. Blocks are numbered by their place in the
// order in which the epoch opens them; place p may be decoded once place
// p-len(entries) is no longer needed.
type pipeline struct {
	*blockCache
	waiting
	r *epochRun

	next      int    // place to be decoded next
	ready     int    // places before it are cached
	advised   int    // places before it were fetched ahead
	last      int    // places before it are needed
	pos       int    // samples before it are gathered, or being gathered
	current   *Batch // the batch that sample pos goes to, or nil
	gathering []batchPart
}

// A batchPart is samples of a batch that one worker gathers.
type batchPart struct {
	b       *Batch
	at, end int // indices in b
	from    int // it needs no places before this one
}

// newPipeline returns the pipeline for the positions of r.
func (s *blockCache) newPipeline(r *epochRun) *pipeline {
	f := &pipeline{blockCache: s, r: r, pos: r.start}
	if o, ok := r.order.(*shardedOrder); ok && !s.all {
		s.entries = append(s.entries, make([]*cachedBlock, max(0, o.span()-len(s.entries)))...)
	}
	if r.start < r.limit {
		f.next, _, _ = r.order.round(r.start)
		f.ready = f.next
		_, f.last, _ = r.order.round(r.limit - 1)
	}
	f.wakeWhenDone(r.ctx)
	return f
}

// step gathers samples or decodes a block, and reports whether it did. If wait is
// set, it waits until there is a task.
func (f *pipeline) step(wait bool) bool {
	p, at := f.nextTask(wait)
	switch {
	case p.b != nil:
		f.finish(p, f.gather(p.b, p.at, p.b.Rows[p.at:p.end]))
	case at != nil:
		f.store(at, f.decode(at))
	default:
		return false
	}
	return true
}

// nextTask returns samples to gather or a block to decode, or neither if nothing is
// left, or if there is nothing to do yet and wait is not set.
func (f *pipeline) nextTask(wait bool) (p batchPart, at *cachedBlock) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for f.pos < f.r.limit && f.r.ctx.Err() == nil {
		if p, ok := f.nextPart(); ok {
			return p, nil
		}
		if at = f.nextBlock(); at != nil {
			f.prefetch(f.next - 1)
			return batchPart{}, at
		} else if !wait {
			return batchPart{}, nil
		}
		f.changed.Wait()
	}
	return batchPart{}, nil
}

// nextPart returns the next samples that can be gathered, of one batch and one round.
func (f *pipeline) nextPart() (batchPart, bool) {
	from, to, end := f.r.order.round(f.pos)
	for f.ready < to && f.cached(f.ready) {
		f.ready++
	}
	if f.ready < to || !f.openBatch() {
		return batchPart{}, false
	}
	b := f.current
	at := f.pos - (b.Consumed - len(b.Rows))
	p := batchPart{b, at, min(len(b.Rows), at+end-f.pos), from}
	f.r.order.fill(b.Rows[p.at:p.end], f.pos)
	f.gathering = append(f.gathering, p)
	if f.pos += p.end - p.at; f.pos == b.Consumed {
		f.current = nil
	}
	return p, true
}

// cached reports whether the block at a place is in the cache: in the place's own entry, unless all blocks
// stay there. A block that two shards share has two places.
func (f *pipeline) cached(place int) bool {
	if f.all {
		return f.byBlock[f.r.order.blockAt(place)].Load() != nil
	}
	at := f.entries[place%len(f.entries)]
	return at != nil && at.place == place && !at.decoding
}

// openBatch makes a free batch the current one, if there is no current one, and
// reports whether there is one now.
func (f *pipeline) openBatch() bool {
	if f.current != nil {
		return true
	}
	select {
	case b := <-f.r.free:
		f.r.next(b)
		b.missing, b.err = len(b.Rows), nil
		f.current = b
		return true
	default:
		return false
	}
}

// nextBlock returns a cache entry for the next block to decode, if one is free.
func (f *pipeline) nextBlock() *cachedBlock {
	for f.next < f.last {
		block, index := f.r.order.blockAt(f.next), f.next%len(f.entries)
		if f.all {
			index = block
		} else if f.next >= f.firstNeeded()+len(f.entries) {
			return nil
		}
		place := f.next
		f.next++
		if at := f.entries[index]; f.all && at != nil && (at.decoding || f.byBlock[block].Load() != nil) {
			continue
		}
		at := f.evict(index)
		at.block, at.start, at.place, at.decoding = block, f.blocks.start(block), place, true
		return at
	}
	return nil
}

// firstNeeded returns the first place that samples are still gathered from.
func (f *pipeline) firstNeeded() int {
	first, _, _ := f.r.order.round(f.pos)
	for _, p := range f.gathering {
		first = min(first, p.from)
	}
	return first
}

// evict returns a cache entry, whose block is not needed any more.
func (s *blockCache) evict(index int) *cachedBlock {
	if s.entries[index] == nil {
		s.entries[index] = &cachedBlock{block: -1}
	}
	at := s.entries[index]
	if at.block >= 0 {
		s.byBlock[at.block].CompareAndSwap(at, nil)
	}
	return at
}

// store records that an entry holds its block, or why the block could not be decoded.
func (f *pipeline) store(at *cachedBlock, err error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	at.decoding, at.err = false, err
	f.byBlock[at.block].Store(at)
	f.changed.Broadcast()
}

// finish delivers the batch of a part if nothing else of it is missing.
func (f *pipeline) finish(p batchPart, err error) {
	f.lock.Lock()
	f.gathering = slices.DeleteFunc(f.gathering, func(q batchPart) bool { return q == p })
	if p.b.err == nil {
		p.b.err = err
	}
	p.b.missing -= p.end - p.at
	whole := p.b.missing == 0
	f.changed.Broadcast()
	f.lock.Unlock()
	if whole {
		f.r.deliver(p.b)
	}
}
