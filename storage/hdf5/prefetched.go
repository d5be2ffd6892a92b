package hdf5

import (
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
	set     atomic.Pointer[keptRanges]
	removed []keptRange
	size    int // of removed, in bytes
}

type byteRange struct{ at, n int }

// A keptRange is a range of a dataset that is in one place of the file, and its address
// there.
type keptRange struct {
	byteRange
	address uint64
}

// keptRanges are sorted by start.
type keptRanges []keptRange

func (p *prefetched) load() keptRanges {
	if set := p.set.Load(); set != nil {
		return *set
	}
	return nil
}

func (p *prefetched) add(r keptRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.load()
	set = slices.Insert(slices.Clone(set), set.after(r.at), r)
	p.set.Store(&set)
}

// remove removes a range that was added. It returns the ranges whose pages are to be
// unmapped now.
func (p *prefetched) remove(r keptRange) (unmap []keptRange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.load()
	k := slices.Index(set, r)
	if k < 0 {
		return nil
	}
	set = slices.Delete(slices.Clone(set), k, k+1)
	p.set.Store(&set)
	p.removed = append(p.removed, r)
	if p.size += r.n; p.size < storage.MaxDeferredRelease && len(set) > 0 {
		return nil
	}
	unmap, p.removed, p.size = p.removed, nil, 0
	return unmap
}

// address returns where in the file n bytes from an offset on are, if they are within
// one of the ranges.
func (s keptRanges) address(at, n int) (address uint64, ok bool) {
	k := s.after(at) - 1
	if k < 0 || at+n > s[k].at+s[k].n {
		return 0, false
	}
	return s[k].address + uint64(at-s[k].at), true
}

// after returns how many ranges start at an offset or before it. Offsets are random, and
// so the search has no branches that depend on them.
func (s keptRanges) after(at int) int {
	if len(s) == 0 || s[0].at > at {
		return 0
	}
	last := 0
	for n := len(s); n > 1; {
		half := n / 2
		middle := last + half
		if s[middle].at <= at {
			last = middle
		}
		n -= half
	}
	return last + 1
}
