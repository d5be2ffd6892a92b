package dataset

import (
	"context"
	"slices"
	"sync"
)

// slots is where decoded blocks lie. It outlives epochs.
type slots struct {
	d      scatterer
	blocks blocks
	kept   func() (*Batch, error) // if blocks stay for good: all of them, in the order of the dataset
	all    []*slot                // made when first needed
	where  []*slot                // by block: where it lies; nil while it does not
	fields []Field
	sizes  []int // by field: bytes in one sample
}

// A slot holds one decoded block.
type slot struct {
	batch *Batch
	data  [][]byte // by field
	block int
	start int   // its first row
	err   error // what kept it from being decoded
}

func newSlots(d scatterer, b blocks, p Plan) *slots {
	s := &slots{d: d, blocks: b, all: make([]*slot, p.Slots), where: make([]*slot, b.count()), fields: d.Fields()}
	if p.Kept {
		s.kept = sync.OnceValues(func() (*Batch, error) { return newRoom(d, d.Len()) })
	}
	for _, f := range s.fields {
		s.sizes = append(s.sizes, f.bytes())
	}
	return s
}

// forget drops what does not last beyond an epoch.
func (s *slots) forget() {
	for block, at := range s.where {
		if at != nil && (s.kept == nil || at.err != nil) {
			s.where[block] = nil
		}
	}
}

// A feed is the passage of an epoch's blocks through the slots. Readers take
// the blocks in the order of the line; the block at place p may be read once
// the one len(slots.all) places before it is done with.
type feed struct {
	*slots
	order order
	ctx   context.Context
	unset func() bool

	lock  sync.Mutex
	turn  sync.Cond
	next  int // place the next reader takes
	ready int // places before it have been waited for
	done  int // places before it are done with
	last  int // places before it are needed
}

// feed prepares the positions from start up to limit.
func (s *slots) feed(ctx context.Context, o order, start, limit int) *feed {
	f := &feed{slots: s, order: o, ctx: ctx}
	f.turn.L = &f.lock
	if start < limit {
		f.next, _, _ = o.round(start)
		f.ready, f.done = f.next, f.next
		_, f.last, _ = o.round(limit - 1)
	}
	f.unset = context.AfterFunc(ctx, func() {
		f.lock.Lock()
		defer f.lock.Unlock()
		f.turn.Broadcast()
	})
	return f
}

// read decodes blocks until all are, or the context is done.
func (f *feed) read() {
	var rows []int
	for {
		at, block, ok := f.take()
		if !ok {
			return
		}
		if at == nil {
			continue // it is there already
		}
		rows = rows[:0]
		for row := f.blocks.start(block); row < f.blocks.ends[block]; row++ {
			rows = append(rows, row)
		}
		err := f.decode(at, block, rows)
		f.lock.Lock()
		at.block, at.start, at.err = block, f.blocks.start(block), err
		f.where[block] = at
		f.lock.Unlock()
		f.turn.Broadcast()
	}
}

// take returns the next block in line and the slot to decode it to, nil if it
// lies in one. It waits until there is one free.
func (f *feed) take() (at *slot, block int, ok bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	place := f.next
	f.next++
	for f.kept == nil && place >= f.done+len(f.all) && f.ctx.Err() == nil {
		f.turn.Wait()
	}
	if place >= f.last || f.ctx.Err() != nil {
		return nil, 0, false
	}
	block = f.order.block(place)
	index := place % len(f.all)
	if f.kept != nil {
		index = block
	}
	if f.where[block] != nil {
		return nil, block, true
	}
	if f.all[index] == nil {
		f.all[index] = &slot{block: -1}
	}
	at = f.all[index]
	if at.block >= 0 && f.where[at.block] == at {
		f.where[at.block] = nil
	}
	return at, block, true
}

// decode reads rows, the whole of a block, to a slot.
func (f *feed) decode(at *slot, block int, rows []int) (err error) {
	if at.batch == nil {
		if at.batch, err = f.room(block); err != nil {
			return err
		}
		at.data = at.batch.data
	}
	return f.d.scatter(*at.batch, len(rows), rows, nil)
}

// room returns memory for a block: its own, or what any block fits.
func (s *slots) room(block int) (*Batch, error) {
	if s.kept == nil {
		return newRoom(s.d, s.blocks.largest)
	}
	all, err := s.kept()
	if err != nil {
		return nil, err
	}
	return all.section(s.blocks.start(block), s.blocks.ends[block]), nil
}

// fill deals the samples from pos on to b, round by round: what one round is
// done with makes room for what the next one needs.
func (f *feed) fill(b *Batch, pos int) (err error) {
	for k := 0; k < len(b.Rows); {
		from, to, end := f.order.round(pos + k)
		n := min(len(b.Rows)-k, end-pos-k)
		if !f.await(from, to) {
			return f.ctx.Err()
		}
		f.order.deal(b.Rows[k:k+n], pos+k)
		if failed := f.gather(b, k, b.Rows[k:k+n]); failed != nil && err == nil {
			err = failed
		}
		k += n
	}
	return err
}

// await gives up the blocks before from and waits for those before to.
func (f *feed) await(from, to int) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	if from > f.done {
		f.done = from
		f.turn.Broadcast()
	}
	for ; f.ready < to; f.ready++ {
		for f.where[f.order.block(f.ready)] == nil {
			if f.ctx.Err() != nil {
				return false
			}
			f.turn.Wait()
		}
	}
	return true
}

// gather copies the samples at rows, all of them in slots, to b from a place on.
func (s *slots) gather(b *Batch, place int, rows []int) (err error) {
	var room [8][]byte
	dst := room[:0]
	for i, field := range s.fields {
		bytes, err := b.room(i, field, len(b.Rows))
		if err != nil {
			return err
		}
		dst = append(dst, bytes)
	}
	for k, row := range rows {
		at := s.where[s.blocks.of(row)]
		if at.err != nil {
			err = at.err
			continue
		}
		for i, size := range s.sizes {
			copy(dst[i][(place+k)*size:(place+k+1)*size], at.data[i][(row-at.start)*size:])
		}
	}
	return err
}

// table returns the dataset in memory, once every block lies there, else nil.
func (s *slots) table() scatterer {
	if s.kept == nil || slices.Contains(s.where, nil) {
		return nil
	}
	all, err := s.kept()
	if err != nil {
		return nil
	}
	t := &table{length: s.d.Len(), fields: s.fields}
	for i, f := range s.fields {
		t.columns = append(t.columns, &column{Field: f, data: all.whole[i], size: s.sizes[i], steps: 1, chunk: 1, band: 1})
	}
	return t
}
