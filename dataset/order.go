package dataset

import "fmt"

// Shuffle is how an epoch's order is drawn.
type Shuffle uint8

const (
	Auto   Shuffle = iota // Window where samples are decoded many at a time, or are more than 4 GiB of a file; else Exact
	None                  // as stored
	Window                // blocks in random order, samples drawn across those open at a time
	Exact                 // every order of the samples is as likely as any other
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

// An order is which sample comes at which position of an epoch. It goes through
// rounds: stretches of positions that need the same blocks.
type order interface {
	// round returns the round pos lies in, and the position where that ends.
	// It needs the blocks at places [from, to) of the line; those before are done with.
	round(pos int) (from, to, end int)
	// deal writes the rows at positions from pos on, none beyond pos's round.
	deal(rows []int, pos int)
	// line returns how many blocks the epoch opens; block is the one at a place of the line.
	line() int
	block(place int) int
}

// deal writes the rows at positions from pos on, of as many rounds as that takes.
func deal(o order, rows []int, pos int) {
	for len(rows) > 0 {
		_, _, end := o.round(pos)
		n := min(len(rows), end-pos)
		o.deal(rows[:n], pos)
		rows, pos = rows[n:], pos+n
	}
}

// A free order needs all blocks, or none, all the time.
type permutedOrder struct {
	first, total int // the rank's positions in the whole order, and how many
	blocks       int
	shuffled     bool
	permutation
}

func (o permutedOrder) round(int) (from, to, end int) { return 0, o.blocks, o.total }
func (o permutedOrder) line() int                     { return o.blocks }
func (o permutedOrder) block(place int) int           { return place }

func (o permutedOrder) deal(rows []int, pos int) {
	for k := range rows {
		rows[k] = o.first + pos + k
		if o.shuffled {
			rows[k] = o.at(rows[k])
		}
	}
}

// share returns the part [first, end) of n positions that is rank's.
func share(n, rank, world int) (first, end int) {
	cut := func(rank int) int { return n/world*rank + n%world*rank/world }
	return cut(rank), cut(rank + 1)
}
