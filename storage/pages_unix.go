//go:build unix

package storage

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapPages maps the first size bytes of f, for reading, and returns a duplicate of f. No bytes
// are not mapped.
func mapPages(f *os.File, size int) (*os.File, []byte, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, nil, err
	}
	duplicate := os.NewFile(uintptr(fd), f.Name())
	if size == 0 {
		return duplicate, []byte{}, nil
	}
	bytes, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		duplicate.Close()
		return nil, nil, err
	}
	return duplicate, bytes, nil
}

func unmapPages(bytes []byte) error { return unix.Munmap(bytes) }

// ReleasePages gives mapped pages back to the system, which keeps them in its cache.
func ReleasePages(bytes []byte) error { return unix.Madvise(bytes, unix.MADV_DONTNEED) }

// PrefetchPages advises the system to read mapped pages into its cache. bytes begin with a page.
func PrefetchPages(bytes []byte) error { return unix.Madvise(bytes, unix.MADV_WILLNEED) }
