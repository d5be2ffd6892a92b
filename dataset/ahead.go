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

// A rowRange is the rows from first to end-1.
type rowRange struct{ first, end int }

// prefetch announces the blocks ahead of a place whose block is about to be decoded, half of them at a time:
// neighbours are then fetched together. The lock is held, so that nobody reads a block before it is announced.
func (f *pipeline) prefetch(place int) {
	f.advised = max(f.advised, place)
	ahead := f.r.l.ahead
	if ahead == 0 || f.advised-place > ahead/2 {
		return
	}
	var rows []rowRange
	for end := min(place+ahead, f.last); f.advised < end; f.advised++ {
		block := f.r.order.blockAt(f.advised)
		if f.byBlock[block] != nil {
			continue
		}
		rows = appendBlock(rows, f.blocks, block)
	}
	for _, r := range rows {
		f.d.prefetch(r.first, r.end)
	}
}

// appendBlock appends the rows of a block, to the last rows if it follows them.
func appendBlock(rows []rowRange, b blocks, block int) []rowRange {
	first, end := b.start(block), b.ends[block]
	if last := len(rows) - 1; last >= 0 && rows[last].end == first {
		rows[last].end = end
		return rows
	}
	return append(rows, rowRange{first, end})
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
