package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// mostGarbage is how much the heap may grow before garbage is collected, in bytes: blocks and
// names that were read and written. By default a heap with an array of 1 GiB would grow by as
// much. Heaps of less than 2*mostGarbage grow by half, and small ones by leastGarbage. Near
// smallHeap they grow by less, down to leastGarbage again: 100,000 small arrays take half of it.
const mostGarbage, leastGarbage, smallHeap = 24 << 20, 8 << 20, 56 << 20

// heapOverhead is the memory that a small heap may take beside its objects: parts of pages, free
// pages that are not returned yet, and what the garbage collector needs itself.
const heapOverhead = 12 << 20

// limitGarbage bounds garbage by mostGarbage, in commands that copy files array by array. The
// percentage of the garbage collector, which is of the heap in use, is set anew after each
// collection, and so is the limit from which free pages are returned at once: in the background it
// takes seconds. What the user has set stays.
func limitGarbage(args []string) {
	if len(args) > 1 && trains[args[1]] || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	afterCollection(&sentinel{limit: debug.SetMemoryLimit(-1)})
}

// trains are the commands that compute in memory of their own pools.
var trains = map[string]bool{"train": true, "eval": true, "predict": true}

// A sentinel is garbage at once. Its finalizer runs after each collection, which it may not for a
// small object without pointers.
type sentinel struct {
	_     *sentinel
	limit int64 // of memory, that was set last
}

func afterCollection(s *sentinel) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := sample[0].Value.Uint64()
	debug.SetGCPercent(garbagePercent(live))
	if debug.SetMemoryLimit(-1) == s.limit { // else a command has one of its own
		s.limit = memoryLimit(live)
		debug.SetMemoryLimit(s.limit)
	}
	runtime.SetFinalizer(s, afterCollection)
}

// garbagePercent returns by how many percent a heap in use may grow, at least 1 and at most the
// default.
func garbagePercent(live uint64) int {
	return int(min(100, max(1, 100*garbageOf(live)/max(1, live))))
}

// garbageOf returns by how much a heap in use may grow.
func garbageOf(live uint64) uint64 {
	garbage := min(mostGarbage, max(leastGarbage, live/2))
	if live < 2*smallHeap {
		garbage = min(garbage, max(leastGarbage, smallHeap-min(live, smallHeap)))
	}
	return garbage
}

// memoryLimit returns the limit for a heap in use: none for large ones, which would be collected
// again and again if they took more beside their objects.
func memoryLimit(live uint64) int64 {
	if live >= smallHeap {
		return math.MaxInt64
	}
	return int64(max(live+garbageOf(live), smallHeap) + heapOverhead)
}
