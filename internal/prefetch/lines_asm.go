//go:build amd64 || arm64

package prefetch

import "unsafe"

// lines prefetches the cache lines, of 64 bytes each, of n bytes from p on; n is positive.
//
//go:noescape
func lines(p unsafe.Pointer, n int)
