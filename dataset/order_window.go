package dataset

import (
	"iter"
	"sort"
)

// A windowOrder shuffles through a window of open blocks, the shuffle buffer. Blocks
// are opened one after the other, width of them at a time: round s emits an equal
// share of the samples of each block at places s to s+width-1, shuffled, so every
// round opens one block and closes one. The blocks of the first and the last round
// are open for fewer rounds; these two emit more of them, about half of each.
type windowOrder struct {
	blocks     blocks
	segments   []segment
	total      int
	width      int
	key        uint64 // of the epoch
	sequential bool   // in the order of the dataset; nothing is shuffled

	current  int   // the round in rows, or -1
	rows     []int // of the current round, in order
	first    int   // position of rows[0]
	shuffled []shuffledBlock
}

// A segment is the part of a block that belongs to one shard: mostly all of it.
type segment struct {
	block   int
	from, n int // its samples, in the shuffled order of the block
	before  int // samples in the segments before this one
}

// A shuffledBlock is the samples of a block in the order in which they are emitted.
type shuffledBlock struct {
	block int
	rows  []int
}

// newWindowOrder returns the order of one epoch of a shard. The samples in the order of opened
// blocks are divided evenly among the shards, so that two of them need the same block only where
// the share of one ends and the next one's begins. The width is the window of all shards.
func newWindowOrder(b blocks, width int, key uint64, sequential bool, mine share, shards int) *windowOrder {
	w := &windowOrder{blocks: b, key: key, sequential: sequential, current: -1}
	at := 0
	for place, block := range blockSequence(b.count(), width, key) {
		if sequential {
			block = place
		}
		size := b.size(block)
		first, last := max(at, mine.first), min(at+size, mine.end)
		if first < last {
			w.segments = append(w.segments, segment{block, first - at, last - first, w.total})
			w.total += last - first
		}
		at += size
	}
	w.width = max(1, min(shardWindow(width, shards), len(w.segments)))
	w.shuffled = make([]shuffledBlock, w.width)
	for i := range w.shuffled {
		w.shuffled[i].block = -1
	}
	return w
}

// blockSequence yields n blocks in the order in which they are opened, by place. The
// blocks, rotated by a random number, are divided into width regions. Blocks are
// taken from each region in turn, in random order: so the open blocks come from all
// over the file, and files sorted by class train well.
func blockSequence(n, width int, key uint64) iter.Seq2[int, int] {
	return func(yield func(place, block int) bool) {
		width := max(1, min(width, n))
		turns := permute(width, mix(key, turnKey))
		rotation := int(below(uint64(n), mix(key, rotationKey)))
		place := 0
		for cycle := range (n + width - 1) / width {
			for k := range width {
				region := shareOf(n, turns.at(k), width)
				if cycle >= region.len() {
					continue // it is one shorter
				}
				inside := permute(region.len(), mix(key+blockKey, uint64(region.first)))
				if !yield(place, (region.first+inside.at(cycle)+rotation)%n) {
					return
				}
				place++
			}
		}
	}
}

func (w *windowOrder) numBlocks() int        { return len(w.segments) }
func (w *windowOrder) blockAt(place int) int { return w.segments[place].block }
func (w *windowOrder) rounds() int           { return len(w.segments) - w.width + 1 }

// emitted returns how many samples of the segment at a place come before round s:
// one width-th for each of the width rounds up to the one that closes it. Rounds
// before the first count as part of it, those after the last likewise.
func (w *windowOrder) emitted(place, s int) int {
	p := w.segments[place]
	switch parts := s - (place - w.width + 1); {
	case s <= 0 || parts <= 0:
		return 0
	case s >= w.rounds() || parts >= w.width:
		return p.n
	default:
		return p.n * parts / w.width
	}
}

// end returns the position where round s ends.
func (w *windowOrder) end(s int) int {
	if s == w.rounds()-1 {
		return w.total
	}
	end := w.segments[s+1].before
	for place := s + 1; place < s+w.width; place++ {
		end += w.emitted(place, s+1)
	}
	return end
}

// roundOf returns the round of the sample at pos.
func (w *windowOrder) roundOf(pos int) int {
	return sort.Search(w.rounds(), func(s int) bool { return w.end(s) > pos })
}

func (w *windowOrder) round(pos int) (from, to, end int) {
	if w.current < 0 || pos < w.first || pos > w.first+len(w.rows) {
		s := w.roundOf(pos)
		w.load(s)
		if w.first = 0; s > 0 {
			w.first = w.end(s - 1)
		}
	}
	for pos == w.first+len(w.rows) && w.current+1 < w.rounds() {
		w.first = pos
		w.load(w.current + 1)
	}
	return w.current, w.current + w.width, w.first + len(w.rows)
}

func (w *windowOrder) fill(rows []int, pos int) {
	w.round(pos)
	copy(rows, w.rows[pos-w.first:])
}

// load makes round s the current one.
func (w *windowOrder) load(s int) {
	w.rows, w.current = w.rows[:0], s
	for place := s; place < s+w.width; place++ {
		w.emit(place, w.emitted(place, s), w.emitted(place, s+1))
	}
	if !w.sequential {
		shuffle(w.rows, mix(w.key+roundKey, uint64(s)))
	}
}

// emit appends samples from to to-1 of the segment at a place to the current rows.
func (w *windowOrder) emit(place, from, to int) {
	p := w.segments[place]
	start := w.blocks.start(p.block)
	if w.sequential {
		for k := p.from + from; k < p.from+to; k++ {
			w.rows = append(w.rows, start+k)
		}
		return
	}
	for _, row := range w.shuffledRows(place)[p.from+from : p.from+to] {
		w.rows = append(w.rows, start+row)
	}
}

// shuffledRows returns the samples of the block at a place, shuffled.
func (w *windowOrder) shuffledRows(place int) []int {
	d := &w.shuffled[place%w.width]
	if block := w.segments[place].block; d.block != block {
		d.block, d.rows = block, d.rows[:0]
		for row := range w.blocks.size(block) {
			d.rows = append(d.rows, row)
		}
		shuffle(d.rows, mix(w.key+insideKey, uint64(block)))
	}
	return d.rows
}
