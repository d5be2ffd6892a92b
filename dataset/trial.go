package dataset

import (
	"runtime"
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
	took    time.Duration // processor time of its batches
	samples int           // in its batches
	warm    bool          // the first turn is over, which allocates and is not counted
	turns   [2]int        // counted so far; by method
	total   [2]float64    // their times, in ns a sample; by method
}

// The methods of reading, as indices.
const (
	readCalls = iota
	readMapped
)

// trialTurns is how often each method is measured. Turns alternate, so that work of
// others on the machine adds to both.
const trialTurns = 3

// newMappingTrial returns the trial for a window of blocks. While a turn begins, samples
// come from blocks of the turn before, too; these are not measured.
func newMappingTrial(window int) *mappingTrial {
	return &mappingTrial{period: 2*window + 32, turn: -1}
}

// method returns the method of a turn.
func method(turn int) int {
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
		return t.total[readMapped]/float64(t.turns[readMapped]) < t.total[readCalls]/float64(t.turns[readCalls])
	}
	return method(place/t.period) == readMapped
}

// decided is isDecided, with the lock held.
func (t *mappingTrial) decided() bool { return min(t.turns[0], t.turns[1]) >= trialTurns }

// watch begins to measure the loading of b, until end is called. A nil trial measures
// nothing.
func (t *mappingTrial) watch(b *Batch) (end func()) {
	if t == nil || t.isDecided() {
		return func() {}
	}
	runtime.LockOSThread()
	began := threadTime()
	return func() {
		took := threadTime() - began
		runtime.UnlockOSThread()
		t.measured(b.from, b.to, len(b.Rows), took)
	}
}

func (t *mappingTrial) isDecided() bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.decided()
}

// measured notes the time that a batch of samples took, which come from the blocks at
// places from to to-1.
func (t *mappingTrial) measured(from, to, samples int, took time.Duration) {
	turn := from / t.period
	t.lock.Lock()
	defer t.lock.Unlock()
	if (to-1)/t.period != turn || turn < t.turn {
		return
	}
	if turn > t.turn {
		t.endTurn()
		t.turn = turn
	}
	t.took += took
	t.samples += samples
}

// endTurn counts the turn that was measured, until the trial is decided.
func (t *mappingTrial) endTurn() {
	if t.samples > 0 && t.warm && !t.decided() {
		m := method(t.turn)
		t.turns[m]++
		t.total[m] += float64(t.took) / float64(t.samples)
	}
	t.warm = t.warm || t.samples > 0
	t.took, t.samples = 0, 0
}

// endEpoch ends the turn that the end of an epoch cuts off.
func (t *mappingTrial) endEpoch() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.endTurn()
	t.turn = -1
}
