package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// mostGarbage is how much the heap may grow before garbage is collected, in bytes: blocks and
// names that were read and written. By default a heap with an array of 1 GiB would grow by as
// much.
const mostGarbage = 24 << 20

// limitGarbage bounds garbage by mostGarbage, in commands that copy files array by array. The
// percentage of the garbage collector, which is of the heap in use, is set anew after each
// collection. What the user has set stays.
func limitGarbage(args []string) {
	if len(args) > 1 && trains[args[1]] || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	afterCollection(&sentinel{})
}

// trains are the commands that compute in memory of their own pools.
var trains = map[string]bool{"train": true, "eval": true, "predict": true}

// A sentinel is garbage at once. Its finalizer runs after each collection, which it may not for a
// small object without pointers.
type sentinel struct{ _ *sentinel }

func afterCollection(s *sentinel) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	debug.SetGCPercent(garbagePercent(sample[0].Value.Uint64()))
	runtime.SetFinalizer(s, afterCollection)
}

// garbagePercent returns by how many percent a heap in use may grow, at least 1 and at most the
// default.
func garbagePercent(live uint64) int { return int(min(100, max(1, 100*mostGarbage/max(1, live)))) }
