package dataset

import (
	"cmp"
	"slices"
	"sort"
)

// A shardedOrder is the order of several shards, each shuffled through its own window. Each batch is a
// round. The blocks of all shards are numbered in the order in which their batches open them.
type shardedOrder struct {
	batching
	shards []*windowOrder
	places []shardPlace
	index  [][]int // by shard and place there: the index in places

	batch    int // of from and to, or -1
	from, to int
}

// A shardPlace is a block at a place of a shard, which is open from one batch to another.
type shardPlace struct{ shard, place, opens, closes int }

func newShardedOrder(b batching, shards []*windowOrder) *shardedOrder {
	o := &shardedOrder{batching: b, shards: shards, index: make([][]int, len(shards)), batch: -1}
	for s, w := range shards {
		for place := range w.segments {
			opens, closes := 0, w.end(min(place, w.rounds()-1))-1
			if first := place - w.width + 1; first > 0 {
				opens = w.end(first - 1)
			}
			o.places = append(o.places, shardPlace{s, place, opens / b.part, closes / b.part})
		}
	}
	slices.SortStableFunc(o.places, func(p, q shardPlace) int { return cmp.Compare(p.opens, q.opens) })
	for i, p := range o.places {
		o.index[p.shard] = append(o.index[p.shard], i)
	}
	return o
}

func (o *shardedOrder) numBlocks() int { return len(o.places) }

func (o *shardedOrder) blockAt(place int) int {
	p := o.places[place]
	return o.shards[p.shard].blockAt(p.place)
}

func (o *shardedOrder) round(pos int) (from, to, end int) {
	size := o.part * len(o.shards)
	if batch := pos / size; batch != o.batch {
		o.batch, o.from = batch, len(o.places)
		o.to = sort.Search(len(o.places), func(i int) bool { return o.places[i].opens > batch })
		for s, w := range o.shards {
			if first := batch * o.part; first < w.total {
				o.from = min(o.from, o.index[s][w.roundOf(first)])
			}
		}
	}
	return o.from, o.to, min((o.batch+1)*size, o.samples())
}

func (o *shardedOrder) fill(rows []int, pos int) {
	for len(rows) > 0 {
		shard, at, n := o.locate(pos)
		n = min(n, len(rows))
		fillRows(o.shards[shard], rows[:n], at)
		rows, pos = rows[n:], pos+n
	}
}

// span returns the largest number of places of a round.
func (o *shardedOrder) span() (most int) {
	first := 0 // the earliest place that is open
	for last, p := range o.places {
		for o.places[first].closes < p.opens {
			first++
		}
		most = max(most, last+1-first)
	}
	return most
}
