package main

import (
	"math"
	"testing"
	"time"
)

// TestStopwatchesLeaveOutWaiting computes for a while: the time is positive, and at most
// what passed.
func TestStopwatchesLeaveOutWaiting(t *testing.T) {
	var watch stopwatch
	watch.start()
	began := time.Now()
	for x := 1.0; time.Since(began) < 50*time.Millisecond; x = math.Sqrt(x + 1) {
	}
	passed := time.Since(began).Seconds()
	if got := watch.seconds(); got <= 0 || got > passed*1.2 {
		t.Errorf("%v s of %v s", got, passed)
	}
}
