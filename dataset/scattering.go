package dataset

import (
	"sync"

	"github.com/h5dnn/h5dnn/internal/trace"
)

// A scattering reads each block of an epoch once, in the order in which the epoch opens
// them, and puts its samples into the batches that they are in. So batches are opened
// about a window ahead of the one that the loop takes: a block is read when the batches
// of all of its samples are open.
//
// Where memory allows fewer batches, a block is read in parts: when the loop waits for a
// batch, what the open batches need is read.
type scattering struct {
	waiting
	r      *epochRun
	blocks blocks

	opened   int             // samples before it are in batches that are open, or were
	complete int             // blocks at places before it have all samples in these batches
	reach    int             // blocks at places from it on have none
	next     int             // blocks at places before it were read
	advised  int             // blocks at places before it were prefetched
	slots    []*Batch        // batch i of the epoch is slots[i%len(slots)]
	wanted   []wantedSamples // by block: what open batches want of it and is not being read
	unused   [][]uint32      // memory for lists of samples
}

// wantedBytes is the size of an element of wantedSamples.at.
const wantedBytes = 4

// wantedSamples are the samples of a block that are to be read.
type wantedSamples struct {
	n  int
	at []uint32 // by sample of the block: 1 + its slot × samples in a batch + its index there; 0 if it is not wanted
}

// newScattering returns the scattering for the positions of r.
func newScattering(r *epochRun) *scattering {
	s := &scattering{r: r, blocks: r.l.blocks, opened: r.start, slots: make([]*Batch, len(r.l.batches)), wanted: make([]wantedSamples, r.l.blocks.count())}
	if r.start < r.limit {
		s.next, _, _ = r.order.round(r.start)
		s.advised, s.complete, s.reach = s.next, s.next, s.next
	}
	s.wakeWhenDone(r.ctx)
	return s
}

// A scatterTask is samples of one block to be read.
type scatterTask struct {
	rows []int
	to   destination
}

// step reads samples of a block, and reports whether it did. If wait is set, it waits
// until there are some; otherwise the loop calls it, which has no batch.
func (s *scattering) step(wait bool) bool {
	work := scatterTasks.Get().(*scatterTask)
	defer scatterTasks.Put(work)
	if !s.nextTask(work, wait) {
		return false
	}
	span := trace.Begin(trace.Reading, "block", -1)
	err := scatter(s.r.l.d, work.to, work.rows)
	span.End()
	s.finish(work, err)
	clear(work.to.batches) // which others may hold by now
	return true
}

var scatterTasks = sync.Pool{New: func() any { return new(scatterTask) }}

// nextTask sets t to samples to be read, or returns false if nothing is left, or if there
// is nothing to do yet and wait is not set.
func (s *scattering) nextTask(t *scatterTask, wait bool) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	for s.r.ctx.Err() == nil {
		s.openBatches()
		for s.next < s.complete {
			s.prefetch(s.next + 1 + lookahead*s.r.l.o.Workers)
			s.next++
			if s.take(t, s.r.order.blockAt(s.next-1)) {
				return true
			}
		}
		switch {
		case s.opened == s.r.limit:
			return false
		case !wait:
			return s.takeFor(t, s.slots[s.r.taken%len(s.slots)])
		}
		s.changed.Wait()
	}
	return false
}

// openBatches makes all free batches the next ones.
func (s *scattering) openBatches() {
	for s.opened < s.r.limit {
		select {
		case b := <-s.r.free:
			s.open(b)
		default:
			return
		}
	}
}

// open makes b the next batch.
func (s *scattering) open(b *Batch) {
	pos, _ := s.r.next(b)
	b.missing, b.err = len(b.Rows), nil
	slot := (pos - s.r.start) / s.r.l.o.BatchSize % len(s.slots)
	s.slots[slot] = b
	fillRows(s.r.order, b.Rows, pos)
	for k, row := range b.Rows {
		block := s.blocks.of(row)
		s.want(block, row-s.blocks.start(block), slot*s.r.l.o.BatchSize+k)
	}
	s.opened = b.Consumed
	_, s.reach, _ = s.r.order.round(s.opened - 1)
	if s.complete = s.r.order.numBlocks(); s.opened < s.r.limit {
		s.complete, _, _ = s.r.order.round(s.opened)
	}
}

// want notes where the k-th sample of a block is to go.
func (s *scattering) want(block, k, at int) {
	w := &s.wanted[block]
	if w.at == nil {
		if last := len(s.unused) - 1; last >= 0 {
			w.at, s.unused = s.unused[last], s.unused[:last]
		} else {
			w.at = make([]uint32, s.blocks.largest)
		}
	}
	w.n++
	w.at[k] = uint32(at) + 1
}

// take sets t to the samples wanted of a block, if there are any.
func (s *scattering) take(t *scatterTask, block int) bool {
	w := &s.wanted[block]
	if w.n == 0 {
		return false
	}
	t.rows, t.to.batches, t.to.index = t.rows[:0], t.to.batches[:0], t.to.index[:0]
	first, size := s.blocks.start(block), s.r.l.o.BatchSize
	for k, at := range w.at[:s.blocks.size(block)] {
		if at > 0 {
			t.rows = append(t.rows, first+k)
			t.to.batches = append(t.to.batches, s.slots[int(at-1)/size])
			t.to.index = append(t.to.index, int(at-1)%size)
		}
	}
	clear(w.at)
	s.unused = append(s.unused, w.at)
	*w = wantedSamples{}
	return true
}

// takeFor sets t to the samples wanted of a block that the next batch of the loop waits
// for, if there is one that nobody reads.
func (s *scattering) takeFor(t *scatterTask, b *Batch) bool {
	for _, row := range b.Rows {
		block := s.blocks.of(row)
		if w := &s.wanted[block]; w.n > 0 && w.at[row-s.blocks.start(block)] > 0 {
			s.prefetch(s.reach)
			return s.take(t, block)
		}
	}
	return false
}

// prefetch prefetches the blocks at the places before the given one, and before as many as are fetched ahead
// of a remote file.
func (s *scattering) prefetch(to int) {
	if ahead := s.r.l.ahead; ahead > 0 {
		if s.advised-s.next > ahead/2 {
			return
		}
		to = max(to, s.next+ahead)
	}
	var list []int
	for to = min(to, s.r.order.numBlocks()); s.advised < to; s.advised++ {
		list = append(list, s.r.order.blockAt(s.advised))
	}
	prefetchBlocks(s.r.l.d, s.blocks, list)
}

// finish delivers the batches of t of which nothing is missing.
func (s *scattering) finish(t *scatterTask, err error) {
	var whole []*Batch
	s.lock.Lock()
	for _, b := range t.to.batches {
		if b.err == nil {
			b.err = err
		}
		if b.missing--; b.missing == 0 {
			whole = append(whole, b)
		}
	}
	s.lock.Unlock()
	for _, b := range whole {
		s.r.deliver(b)
	}
}
