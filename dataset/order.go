package dataset

import "fmt"

// Shuffle is the way in which the order of an epoch is shuffled.
type Shuffle uint8

const (
	Auto   Shuffle = iota // Window for chunks that are decoded, unless their parts cost as much alone, more than 4 GiB in a file, and files at URLs; else Exact
	None                  // as stored
	Window                // through a shuffle buffer: blocks in random order, samples drawn from those open
	Exact                 // a random permutation of the samples
)

var shuffles = [...]string{Auto: "auto", None: "none", Window: "window", Exact: "exact"}

func (s Shuffle) String() string { return shuffles[s] }

// ParseShuffle returns the Shuffle whose String is name.
func ParseShuffle(name string) (Shuffle, error) {
	for s, known := range shuffles {
		if known == name {
			return Shuffle(s), nil
		}
	}
	return Auto, fmt.Errorf("dataset: unknown shuffle %q; choose auto, none, window or exact", name)
}

// An order says which sample comes at which position of an epoch. Positions are in
// rounds, each of which needs the same blocks. Blocks are numbered by place: their
// index in the order in which the epoch opens them.
type order interface {
	// round returns the position where the round of pos ends, and the places
	// [from, to) of the blocks that it needs. Later rounds need none before from.
	round(pos int) (from, to, end int)
	// fill writes the rows at the positions from pos on, which are in one round.
	fill(rows []int, pos int)
	// numBlocks returns how many blocks the epoch opens, blockAt the one at a place.
	numBlocks() int
	blockAt(place int) int
}

// fillRows writes the rows at the positions from pos on, of any number of rounds.
func fillRows(o order, rows []int, pos int) {
	for len(rows) > 0 {
		_, _, end := o.round(pos)
		n := min(len(rows), end-pos)
		o.fill(rows[:n], pos)
		rows, pos = rows[n:], pos+n
	}
}

// A permutedOrder is sequential, or a permutation of all samples. Its one round
// needs all blocks.
type permutedOrder struct {
	batching
	blocks   int
	shuffled bool
	permutation
}

func (o permutedOrder) round(int) (from, to, end int) { return 0, o.blocks, o.samples() }
func (o permutedOrder) numBlocks() int                { return o.blocks }
func (o permutedOrder) blockAt(place int) int         { return place }

func (o permutedOrder) fill(rows []int, pos int) {
	for len(rows) > 0 {
		shard, at, n := o.locate(pos)
		n = min(n, len(rows))
		for k := range n {
			rows[k] = o.shares[shard].first + at + k
			if o.shuffled {
				rows[k] = o.at(rows[k])
			}
		}
		rows, pos = rows[n:], pos+n
	}
}
