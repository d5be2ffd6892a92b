// Package prefetch asks the processor to load memory into its caches before it is read.
package prefetch

import "unsafe"

// Bytes begins to load b, without waiting. Memory that is not mapped, or whose pages the
// system has not loaded, is left alone: there is no page fault.
func Bytes(b []byte) {
	if len(b) > 0 {
		lines(unsafe.Pointer(unsafe.SliceData(b)), len(b))
	}
}

// block is how much Copy copies between prefetches: the processor has a limited number of
// loads under way.
const block = 1 << 10

// Copy copies src to dst, as copy does, while it prefetches next, which is to be copied
// after it.
func Copy(dst, src, next []byte) {
	for len(src) > block && len(dst) > block {
		Bytes(next[:min(block, len(next))])
		copy(dst[:block], src)
		dst, src, next = dst[block:], src[block:], next[min(block, len(next)):]
	}
	Bytes(next[:min(block, len(next))])
	copy(dst, src)
}
