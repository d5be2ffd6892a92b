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

// TestMeasurementsAlternate checks the order of measurements, and that the rates are high ones
// that occur more than once.
func TestMeasurementsAlternate(t *testing.T) {
	var order []int
	rounds := 0
	rates, err := alternate(
		func() (float64, error) {
			order = append(order, 0)
			if rounds++; rounds == 5 {
				return 400, nil // one that is too high
			}
			return 100 - 50*float64(rounds%2), nil // every other round is disturbed
		},
		func() (float64, error) { order = append(order, 1); return 7, nil })
	if err != nil || len(rates) != 2 || rates[1] != 7 || rates[0] != 100 {
		t.Errorf("%v, %v", rates, err)
	}
	for k, which := range order {
		if which != k%2 {
			t.Fatalf("the order is %v", order)
		}
	}
	if len(order) < 32 {
		t.Errorf("%d measurements", len(order))
	}
}
