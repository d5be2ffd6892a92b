package main

import "time"

// A task is one side of a row.
type task struct {
	before func() error // each time, and not timed; may be nil
	once   func() error
	done   func() // in the end; may be nil
}

func (t task) finish() {
	if t.done != nil {
		t.done()
	}
}

// time returns how many seconds the task takes once.
func (t task) time() (float64, error) {
	if t.before != nil {
		if err := t.before(); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	err := t.once()
	return time.Since(start).Seconds(), err
}

// repeat returns how many seconds each of n calls took. One before them, if they
// are several, finds the caches and the threads as the other side's turn left them.
func (t task) repeat(n int) (times []float64, err error) {
	skip := 0
	if n > 1 {
		skip = 1
	}
	for range skip + n {
		took, err := t.time()
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	return times[skip:], nil
}
