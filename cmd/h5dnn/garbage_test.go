package main

import (
	"math"
	"testing"
)

// TestOnlySmallHeapsAreLimited: a limit that a heap cannot keep is a collection after the other.
func TestOnlySmallHeapsAreLimited(t *testing.T) {
	for _, live := range []uint64{0, 1 << 20, smallHeap / 2, smallHeap - 1} {
		if got := memoryLimit(live); got < int64(live)+leastGarbage || got > 2*smallHeap+heapOverhead {
			t.Errorf("limit %d for a heap of %d", got, live)
		}
	}
	for _, live := range []uint64{smallHeap, 1 << 30} {
		if got := memoryLimit(live); got != math.MaxInt64 {
			t.Errorf("limit %d for a heap of %d; want none", got, live)
		}
	}
}
