package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A stopwatch measures the time that this process would have taken with the processors to
// itself: the time that passed, times the share of it in which threads that could run did
// run. Where the system does not tell, it is the time that passed.
type stopwatch struct {
	began           time.Time
	running, queued float64
}

func (w *stopwatch) start() {
	w.running, w.queued = schedule()
	w.began = time.Now()
}

func (w *stopwatch) seconds() float64 {
	passed := time.Since(w.began).Seconds()
	running, queued := schedule()
	running, queued = running-w.running, queued-w.queued
	if running <= 0 || queued < 0 {
		return passed
	}
	return passed * running / (running + queued)
}

// schedule returns how long the threads of this process have been running, and waiting for a
// processor, in nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
func schedule() (running, queued float64) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, name := range files {
		text, _ := os.ReadFile(name) // nothing if the thread has ended
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			ran, _ := strconv.ParseFloat(fields[0], 64)
			waited, _ := strconv.ParseFloat(fields[1], 64)
			running, queued = running+ran, queued+waited
		}
	}
	return running, queued
}
