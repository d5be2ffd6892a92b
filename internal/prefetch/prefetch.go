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

// piece is how much Copy copies between prefetches: the processor has a limited number of
// loads under way.
const piece = 1 << 10

// Copy copies src to dst, as copy does, while it prefetches next, which is to be copied
// after it.
func Copy(dst, src, next []byte) {
	for len(src) > piece && len(dst) > piece {
		Bytes(next[:min(piece, len(next))])
		copy(dst[:piece], src)
		dst, src, next = dst[piece:], src[piece:], next[min(piece, len(next)):]
	}
	Bytes(next[:min(piece, len(next))])
	copy(dst, src)
}
