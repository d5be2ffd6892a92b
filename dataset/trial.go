package dataset

import (
	"math"
	"sync"
	"time"
)

// A mappingTrial measures which is faster: to copy samples from mapped pages, or with a
// system call for each. Either may be, by a third: mapping depends on the size of the
// pages in the system's cache, on the cost of page faults and of interrupting other
// processors. So the blocks of an epoch are read in turns of the one and of the other,
// until both have had trialTurns; then the better one is kept. What is read is the same.
type mappingTrial struct {
	period int // places of blocks in a turn

	lock    sync.Mutex
	turn    int           // that is being measured
	took    time.Duration // by its batches
	samples int           // in its batches
	turns   [2]int        // measured so far; by method
	best    [2]float64    // least time of a turn, in ns a sample; by method
}

// The methods of reading, as indices.
const (
	readCalls = iota
	readMapped
)

// trialTurns is how often each method is measured. The least time counts, as other work
// of the machine only adds to it.
const trialTurns = 3

// newMappingTrial returns the trial for a window of blocks. While a turn begins, samples
// come from blocks of the turn before, too; these are not measured.
func newMappingTrial(window int) *mappingTrial {
	return &mappingTrial{period: 2*window + 32, turn: -1, best: [2]float64{math.Inf(1), math.Inf(1)}}
}

// method returns the method of a turn.
func (t *mappingTrial) method(turn int) int {
	if turn%2 == 0 {
		return readMapped
	}
	return readCalls
}

// mapped reports whether the block at a place is to be read from mapped pages.
func (t *mappingTrial) mapped(place int) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.decided() {
		return t.best[readMapped] < t.best[readCalls]
	}
	return t.method(place/t.period) == readMapped
}

func (t *mappingTrial) decided() bool { return min(t.turns[0], t.turns[1]) >= trialTurns }

// measured notes the time that a batch took whose samples come from the blocks at places
// from to to-1.
func (t *mappingTrial) measured(from, to, samples int, took time.Duration) {
	turn := from / t.period
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.decided() || (to-1)/t.period != turn || turn < t.turn {
		return
	}
	if turn > t.turn {
		t.endTurn()
		t.turn = turn
	}
	t.took += took
	t.samples += samples
}

// endTurn counts the turn that was measured.
func (t *mappingTrial) endTurn() {
	if t.samples > 0 {
		m := t.method(t.turn)
		t.turns[m]++
		t.best[m] = min(t.best[m], float64(t.took)/float64(t.samples))
	}
	t.took, t.samples = 0, 0
}

// endEpoch ends the turn that the end of an epoch cuts off.
func (t *mappingTrial) endEpoch() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.endTurn()
	t.turn = -1
}
