package dataset

// A batching says how the batches of a rank are made of its shards: an equal part of each,
// one after the other. Positions count the samples of the rank's batches.
type batching struct {
	shares []share // of the shards of the rank
	part   int     // samples of a shard in a full batch
}

// A share is the positions [first, end) of a shard in the order of all samples.
type share struct{ first, end int }

func (s share) len() int { return s.end - s.first }

// shareOf returns the share of one of a number of shards of n samples.
func shareOf(n, shard, shards int) share {
	boundary := func(shard int) int { return n/shards*shard + n%shards*shard/shards }
	return share{boundary(shard), boundary(shard + 1)}
}

// batching returns the batching of a dataset of n samples.
func (o Options) batching(n int) batching {
	b := batching{part: o.BatchSize / o.local()}
	for k := range o.local() {
		b.shares = append(b.shares, shareOf(n, o.Rank*o.local()+k, o.Shards))
	}
	return b
}

// samples returns the number of samples of the rank.
func (b batching) samples() (n int) {
	for _, s := range b.shares {
		n += s.len()
	}
	return n
}

// locate returns the shard of the sample at a position, its position among the samples of
// the shard, and how many of these follow in the batch from there on.
func (b batching) locate(pos int) (shard, at, n int) {
	if len(b.shares) == 1 {
		return 0, pos, b.shares[0].len() - pos
	}
	size := b.part * len(b.shares)
	first := pos / size * b.part
	for within := pos % size; ; shard++ {
		have := max(0, min(b.part, b.shares[shard].len()-first))
		if within < have {
			return shard, first + within, have - within
		}
		within -= have
	}
}

// starts reports whether a batch may begin at a position: any, if there is one shard.
func (b batching) starts(pos int) bool {
	return len(b.shares) == 1 || pos%(b.part*len(b.shares)) == 0 || pos == b.samples()
}
