package hdf5

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// A prefetched set holds the ranges of bytes whose pages stay mapped after a prefetch.
// Readers work with the set as it was when they began.
type prefetched struct {
	mu  sync.Mutex // held while the set is replaced
	set atomic.Pointer[byteRanges]
}

// byteRanges are sorted by start.
type byteRanges []byteRange

type byteRange struct{ at, n int }

func (p *prefetched) load() byteRanges {
	if set := p.set.Load(); set != nil {
		return *set
	}
	return nil
}

func (p *prefetched) add(at, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.load()
	k, _ := set.find(at)
	set = slices.Insert(slices.Clone(set), k, byteRange{at, n})
	p.set.Store(&set)
}

// remove removes a range that was added, and reports whether it was there.
func (p *prefetched) remove(at, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.load()
	k := slices.Index(set, byteRange{at, n})
	if k < 0 {
		return false
	}
	set = slices.Delete(slices.Clone(set), k, k+1)
	p.set.Store(&set)
	return true
}

// contain reports whether n bytes from at on are within one of the ranges.
func (s byteRanges) contain(at, n int) bool {
	k, found := s.find(at)
	if !found {
		k--
	}
	return k >= 0 && k < len(s) && at+n <= s[k].at+s[k].n
}

func (s byteRanges) find(at int) (int, bool) {
	return slices.BinarySearchFunc(s, at, func(r byteRange, at int) int { return cmp.Compare(r.at, at) })
}
