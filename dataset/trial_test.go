package dataset

import (
	"testing"
	"time"
)

// runTrial measures one epoch of blocks in a trial of two methods that take the given
// times a sample, and returns the methods of the blocks, by place.
func runTrial(t *mappingTrial, places, window int, mapped, calls time.Duration) (methods []bool) {
	for to := range places {
		methods = append(methods, t.mapped(to))
		if to < window {
			continue
		}
		took := time.Duration(0) // for one sample of each block
		for _, m := range methods[to-window : to] {
			if m {
				took += mapped
			} else {
				took += calls
			}
		}
		t.measured(to-window, to, window, took)
	}
	t.endEpoch()
	return methods
}

// TestTrialKeepsTheFasterMethod measures methods that take different times: both are
// tried, and then one is kept, in the next epoch too.
func TestTrialKeepsTheFasterMethod(t *testing.T) {
	const window, places = 8, 1000
	for _, c := range []struct {
		mapped, calls time.Duration
		want          bool
	}{{10, 11, true}, {11, 10, false}} {
		trial := newMappingTrial(window)
		first := runTrial(trial, places, window, c.mapped, c.calls)
		tried := 0
		for place, mapped := range first {
			if mapped != c.want {
				tried = place
			}
		}
		if most := (2*trialTurns + 1) * trial.period; tried == 0 || tried > most+trial.period {
			t.Errorf("%v: the slower method is last used at place %d; want one from 1 to %d", c, tried, most+trial.period)
		}
		for place, mapped := range runTrial(trial, places, window, c.mapped, c.calls) {
			if mapped != c.want {
				t.Fatalf("%v: second epoch: place %d is mapped: %v", c, place, mapped)
			}
		}
	}
}

// TestTrialOfShortEpochs decides after several epochs, each of which has few turns.
func TestTrialOfShortEpochs(t *testing.T) {
	const window = 4
	trial := newMappingTrial(window)
	for range trialTurns + 1 { // the first turn is not counted
		if trial.decided() {
			t.Fatal("decided before each method was measured often enough")
		}
		runTrial(trial, 2*trial.period, window, 2, 1)
	}
	trial.measured(trial.period, trial.period+1, 1, time.Hour) // counts no more
	trial.endEpoch()
	if !trial.decided() || trial.mapped(0) {
		t.Errorf("decided: %v, mapped: %v after %d epochs; want true and false", trial.decided(), trial.mapped(0), trialTurns+1)
	}
}

// TestTrialIgnoresMixedBatches measures only batches whose blocks are all read by one
// method, and not those that end late, in the next turn.
func TestTrialIgnoresMixedBatches(t *testing.T) {
	trial := newMappingTrial(4)
	trial.warm = true
	p := trial.period
	trial.measured(p-1, p+1, 1, time.Hour)
	trial.measured(p, p+4, 1, 5)
	trial.measured(0, 4, 1, time.Hour)
	trial.endEpoch()
	if trial.turns != [2]int{readCalls: 1} || trial.total[readCalls] != 5 {
		t.Errorf("turns %v of %v ns; want one of 5 ns", trial.turns, trial.total)
	}
}
