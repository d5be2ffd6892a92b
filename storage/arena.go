package storage

import (
	"cmp"
	"slices"
	"sync"
)

// An arena lends parts of large regions of address space. A part that comes back merges with the
// free parts beside it, so that its memory serves requests of any size. It is safe for use by
// several goroutines.
type arena struct {
	// reserve returns address space that takes memory where it is written, or nil if the system refuses.
	// It is never given back: a slice of a part that has come back may still be read.
	reserve func(size int) []byte
	region  int // size of a region, unless a request is larger

	mu      sync.Mutex
	regions [][]byte
	free    []part // in order; no two adjoin
}

// A part is bytes from to to-1 of a region.
type part struct{ region, from, to int }

func (p part) len() int { return p.to - p.from }

func comparePlaces(p, q part) int {
	return cmp.Or(cmp.Compare(p.region, q.region), cmp.Compare(p.from, q.from))
}

const (
	leastPart = 64 << 10 // smaller requests are better served by size classes
	partUnit  = 4 << 10  // parts consist of pages
)

// take returns a part of at least size bytes, with undefined content, out of the shortest
// free one that has as many. It returns false if there is no address space.
func (a *arena) take(size int) (p part, bytes []byte, ok bool) {
	size = (size + partUnit - 1) / partUnit * partUnit
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.shortest(size)
	if i < 0 {
		if i, ok = a.grow(size); !ok {
			return part{}, nil, false
		}
	}
	p = a.free[i]
	if p.to = p.from + size; p == a.free[i] {
		a.free = slices.Delete(a.free, i, i+1)
	} else {
		a.free[i].from = p.to
	}
	return p, a.bytes(p), true
}

func (a *arena) bytes(p part) []byte { return a.regions[p.region][p.from:p.to:p.to] }

// shortest returns the index of the shortest free part of at least size bytes, or -1.
func (a *arena) shortest(size int) int {
	best := -1
	for i, p := range a.free {
		if p.len() >= size && (best < 0 || p.len() < a.free[best].len()) {
			best = i
		}
	}
	return best
}

// grow adds a region of at least size bytes, and returns the index of that free part.
func (a *arena) grow(size int) (i int, ok bool) {
	region := a.reserve(max(size, a.region))
	if region == nil {
		return 0, false
	}
	a.regions = append(a.regions, region)
	a.free = append(a.free, part{len(a.regions) - 1, 0, len(region)})
	return len(a.free) - 1, true
}

// give takes back what take returned.
func (a *arena) give(p part) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, found := slices.BinarySearchFunc(a.free, p, comparePlaces)
	before, after := i-1, i
	adjoins := func(p, q part) bool { return p.region == q.region && p.to == q.from }
	if found || before >= 0 && a.free[before].region == p.region && a.free[before].to > p.from {
		panic("storage: memory was given back twice")
	}
	if after < len(a.free) && adjoins(p, a.free[after]) {
		p.to = a.free[after].to
		a.free = slices.Delete(a.free, after, after+1)
	}
	if before >= 0 && adjoins(a.free[before], p) {
		a.free[before].to = p.to
		return
	}
	a.free = slices.Insert(a.free, i, p)
}

// trim returns the memory of free parts to the system, and reports whether there are any.
func (a *arena) trim() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.free {
		discard(a.bytes(p))
	}
	return len(a.free) > 0
}

// hostMemory is the arena of all pools of host memory.
var hostMemory = &arena{reserve: reserve, region: 1 << 30}
