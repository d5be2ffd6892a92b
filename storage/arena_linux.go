//go:build linux && !race && !asan && !msan

package storage

import "golang.org/x/sys/unix"

// reserve maps memory outside of Go's, in pages of 2 MiB if the system has them. Sanitizers do not see it, so
// programs built for them have none.
func reserve(size int) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	hugePages(b)
	return b
}

// discard returns the memory of b, which consists of pages, to the system. Its bytes become 0.
func discard(b []byte) { unix.Madvise(b, unix.MADV_DONTNEED) }
