package hdf5

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// A prefetched is which bytes of a direct source lie in pages that stay mapped. Readers see
// it as it was when they began.
type prefetched struct {
	mu  sync.Mutex // of writers
	all atomic.Pointer[byteRanges]
}

// byteRanges are in order of their places.
type byteRanges []byteRange

type byteRange struct{ at, n int }

func (h *prefetched) now() byteRanges {
	if all := h.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (h *prefetched) add(at, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.now()
	k, _ := all.find(at)
	all = slices.Insert(slices.Clone(all), k, byteRange{at, n})
	h.all.Store(&all)
}

// remove takes out what add put in, and reports whether it was there.
func (h *prefetched) remove(at, n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.now()
	k := slices.Index(all, byteRange{at, n})
	if k < 0 {
		return false
	}
	all = slices.Delete(slices.Clone(all), k, k+1)
	h.all.Store(&all)
	return true
}

// has reports whether n bytes from a place on lie in one of s.
func (s byteRanges) has(at, n int) bool {
	k, found := s.find(at)
	if !found {
		k--
	}
	return k >= 0 && k < len(s) && at+n <= s[k].at+s[k].n
}

func (s byteRanges) find(at int) (int, bool) {
	return slices.BinarySearchFunc(s, at, func(s byteRange, at int) int { return cmp.Compare(s.at, at) })
}
