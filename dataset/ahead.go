package dataset

import "github.com/h5dnn/h5dnn/storage"

// Samples of remote files are fetched ahead: an epoch's order says which blocks come next. Those of local files
// without filters are prefetched by the system, and decoded ones are read when they are needed.

// remote reports whether the samples of a column come over a network.
func (c *column) remote() bool {
	source, ok := c.data.Data.(storage.RemoteSource)
	return ok && c.cached == nil && source.Remote()
}

func (t *table) prefetch(first, end int) {
	for _, c := range t.columns {
		c.prefetch(first, end)
	}
}

// prefetch announces that samples first to end-1 of a column will be read.
func (c *column) prefetch(first, end int) {
	step := c.data.Stride[0] * c.Type.Size()
	switch file, uncompressed := c.data.Data.(storage.Uncompressed); {
	case c.cached != nil || first >= end:
	case c.access == ranges && uncompressed && step > 0:
		file.Prefetch(c.data.Offset*c.Type.Size()+first*step, (end-1-first)*step+c.size)
	case c.remote():
		rows, n := windows(c.data.View)
		c.data.Data.(storage.RemoteSource).PrefetchView(samples(rows, first, end-first+n-1))
	}
}

func (s *subset) prefetch(first, end int) {
	if s.ascending && first < end {
		s.reader.prefetch(s.rows[first], s.rows[end-1]+1)
	}
}

func (c *chain) prefetch(first, end int) {
	for i, part := range c.parts {
		start := c.ends[i] - part.Len()
		if lo, hi := max(first, start), min(end, c.ends[i]); lo < hi {
			part.prefetch(lo-start, hi-start)
		}
	}
}

// aheadBytes is about how many bytes of samples are fetched ahead of the block that is decoded, in blocks of which
// there are leastAhead to mostAhead.
const (
	aheadBytes = 32 << 20
	leastAhead = 2
	mostAhead  = 64
)

// blocksAhead returns the number of blocks that are fetched ahead of the one that is decoded.
func (p *planner) blocksAhead() int {
	if !p.d.Remote {
		return 0
	}
	return min(mostAhead, max(leastAhead, aheadBytes/max(1, p.blocks.largest*p.d.SampleBytes)))
}

// prefetch announces the blocks ahead of a place whose block is about to be decoded, half of them at a time:
// neighbours are then fetched together. The lock is held, so that nobody reads a block before it is announced.
func (f *pipeline) prefetch(place int) {
	f.advised = max(f.advised, place)
	ahead := f.r.l.ahead
	if ahead == 0 || f.advised-place > ahead/2 {
		return
	}
	var list []int
	for end := min(place+ahead, f.last); f.advised < end; f.advised++ {
		if block := f.r.order.blockAt(f.advised); f.byBlock[block].Load() == nil {
			list = append(list, block)
		}
	}
	prefetchBlocks(f.d, f.blocks, list)
}

// prefetchBlocks announces blocks of d, those that follow each other in the list and in d together.
func prefetchBlocks(d reader, b blocks, list []int) {
	for k := 0; k < len(list); {
		first, end := b.start(list[k]), b.ends[list[k]]
		for k++; k < len(list) && b.start(list[k]) == end; k++ {
			end = b.ends[list[k]]
		}
		d.prefetch(first, end)
	}
}

// prefetchGroups announces the row groups of samples, whose indices are in their order, if they come over a network.
func (c *column) prefetchGroups(rows, order []int) {
	if !c.remote() {
		return
	}
	for k := 0; k < len(order); {
		first, end := rows[order[k]], c.groupEnd(rows[order[k]])
		last := first
		for k < len(order) && rows[order[k]] < end {
			last = rows[order[k]]
			k++
		}
		c.prefetch(first, last+1)
	}
}
