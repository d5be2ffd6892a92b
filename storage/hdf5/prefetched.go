package hdf5

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/storage"
)

// A prefetched set holds the ranges of bytes whose pages stay mapped after a prefetch.
// Readers work with the set as it was when they began.
//
// Unmapping pages interrupts every processor that may have used them. So ranges that
// are removed are collected, until their size is [storage.MaxDeferredRelease] or no
// others are left.
type prefetched struct {
	mu      sync.Mutex // held while the set is replaced
	set     atomic.Pointer[byteRanges]
	removed []byteRange
	size    int // of removed, in bytes
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

// remove removes a range that was added. It returns the ranges whose pages are to be
// unmapped now.
func (p *prefetched) remove(at, n int) (unmap []byteRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.load()
	k := slices.Index(set, byteRange{at, n})
	if k < 0 {
		return nil
	}
	set = slices.Delete(slices.Clone(set), k, k+1)
	p.set.Store(&set)
	p.removed = append(p.removed, byteRange{at, n})
	if p.size += n; p.size < storage.MaxDeferredRelease && len(set) > 0 {
		return nil
	}
	unmap, p.removed, p.size = p.removed, nil, 0
	return unmap
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
