package storage

import (
	"math"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages asks for pages of 2 MiB where b covers them whole: each saves 511
// faults when it is first written, and as many entries of the processor's tables
// when rows of it are read in random order. It is advice, which may be declined.
func hugePages(b []byte) {
	const page = 2 << 20
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	first, end := (start+page-1)/page*page, (start+uintptr(len(b)))/page*page
	if first < end {
		unix.Madvise(b[first-start:end-start], unix.MADV_HUGEPAGE)
	}
}

// memory is how many bytes this machine has, or may move to its disk.
var memory = sync.OnceValue(func() int {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.MaxInt
	}
	return int(uint64(info.Totalram+info.Totalswap) * uint64(info.Unit))
})
