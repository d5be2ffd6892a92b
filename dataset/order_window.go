package dataset

import (
	"iter"
	"sort"
)

// A window is the order in which blocks are opened one after the other, a number
// of them open at a time, and samples drawn across the open ones: round s draws
// from the blocks at places s … s+span-1 of the line, an even share of each. So
// each round opens one block and is done with one. The first and last rounds
// draw what evens out the blocks that are not open as long: about half of each.
type windowOrder struct {
	blocks blocks
	pieces []segment
	total  int
	span   int
	key    uint64 // of the epoch
	stored bool   // as stored: nothing is shuffled

	dealt int   // the round whose rows are in hand
	hand  []int // its rows
	begin int   // its first position
	open  []shuffledBlock
}

// A piece is the part of a block that belongs to one rank: mostly all of it.
type segment struct {
	block   int
	from, n int // which of its samples, counted in the block's own order
	before  int // samples in the pieces before this one
}

// A deck is the samples of a block in the order in which they are drawn.
type shuffledBlock struct {
	block int
	rows  []int
}

// newWindow lines up the blocks of one epoch. Each rank gets as long a stretch
// of the line as any other, so that at most its ends are decoded by two.
func newWindowOrder(b blocks, span int, key uint64, stored bool, rank, world int) *windowOrder {
	w := &windowOrder{blocks: b, key: key, stored: stored, dealt: -1}
	lo, hi := share(b.start(b.count()), rank, world)
	at := 0
	for place, block := range blockSequence(b.count(), span, key) {
		if stored {
			block = place
		}
		size := b.size(block)
		first, last := max(at, lo), min(at+size, hi)
		if first < last {
			w.pieces = append(w.pieces, segment{block, first - at, last - first, w.total})
			w.total += last - first
		}
		at += size
	}
	w.span = max(1, min(span, len(w.pieces)))
	w.open = make([]shuffledBlock, w.span)
	for i := range w.open {
		w.open[i].block = -1
	}
	return w
}

// lineUp yields the places of a line and which of n blocks is there. The blocks,
// taken as a ring and cut at random into as many stretches as are open at a
// time, are dealt from each stretch in turn, in random order: so what is open
// comes from all over the file, and files sorted by class train well.
func blockSequence(n, span int, key uint64) iter.Seq2[int, int] {
	return func(yield func(place, block int) bool) {
		span := max(1, min(span, n))
		turn := permute(span, mix(key, turnKey))
		cut := int(below(uint64(n), mix(key, cutKey)))
		place := 0
		for cycle := range (n + span - 1) / span {
			for k := range span {
				first, end := share(n, turn.at(k), span)
				if cycle >= end-first {
					continue // this stretch is one shorter
				}
				inside := permute(end-first, mix(key+blockKey, uint64(first)))
				if !yield(place, (first+inside.at(cycle)+cut)%n) {
					return
				}
				place++
			}
		}
	}
}

func (w *windowOrder) line() int           { return len(w.pieces) }
func (w *windowOrder) block(place int) int { return w.pieces[place].block }
func (w *windowOrder) rounds() int         { return len(w.pieces) - w.span + 1 }

// given returns how many samples the piece at a place has dealt before round s:
// one span-th in each of the span rounds that would end with the one it leaves
// in. Those before the first round fall into it, those after the last likewise.
func (w *windowOrder) given(place, s int) int {
	p := w.pieces[place]
	switch parts := s - (place - w.span + 1); {
	case s <= 0 || parts <= 0:
		return 0
	case s >= w.rounds() || parts >= w.span:
		return p.n
	default:
		return p.n * parts / w.span
	}
}

// end returns the position where round s ends.
func (w *windowOrder) end(s int) int {
	if s == w.rounds()-1 {
		return w.total
	}
	end := w.pieces[s+1].before
	for place := s + 1; place < s+w.span; place++ {
		end += w.given(place, s+1)
	}
	return end
}

func (w *windowOrder) round(pos int) (from, to, end int) {
	if w.dealt < 0 || pos < w.begin || pos > w.begin+len(w.hand) {
		s := sort.Search(w.rounds(), func(s int) bool { return w.end(s) > pos })
		w.take(s)
		if w.begin = 0; s > 0 {
			w.begin = w.end(s - 1)
		}
	}
	for pos == w.begin+len(w.hand) && w.dealt+1 < w.rounds() {
		w.begin = pos
		w.take(w.dealt + 1)
	}
	return w.dealt, w.dealt + w.span, w.begin + len(w.hand)
}

func (w *windowOrder) deal(rows []int, pos int) {
	w.round(pos)
	copy(rows, w.hand[pos-w.begin:])
}

// take deals round s to the hand.
func (w *windowOrder) take(s int) {
	w.hand, w.dealt = w.hand[:0], s
	for place := s; place < s+w.span; place++ {
		w.draw(place, w.given(place, s), w.given(place, s+1))
	}
	if !w.stored {
		shuffle(w.hand, mix(w.key+roundKey, uint64(s)))
	}
}

// draw adds samples from … to-1 of the piece at a place to the hand.
func (w *windowOrder) draw(place, from, to int) {
	p := w.pieces[place]
	start := w.blocks.start(p.block)
	if w.stored {
		for k := p.from + from; k < p.from+to; k++ {
			w.hand = append(w.hand, start+k)
		}
		return
	}
	for _, row := range w.deck(place)[p.from+from : p.from+to] {
		w.hand = append(w.hand, start+row)
	}
}

// deck returns the shuffled samples of the block at a place, which is open.
func (w *windowOrder) deck(place int) []int {
	d := &w.open[place%w.span]
	if block := w.pieces[place].block; d.block != block {
		d.block, d.rows = block, d.rows[:0]
		for row := range w.blocks.size(block) {
			d.rows = append(d.rows, row)
		}
		shuffle(d.rows, mix(w.key+insideKey, uint64(block)))
	}
	return d.rows
}
