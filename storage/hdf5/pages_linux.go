package hdf5

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// isCached reports whether the first of n bytes at an address is in the page cache, as a
// sample of all of them: the system evicts first what was read first. To ask takes 1 µs;
// advice to read 1 MiB that is in the cache already took 23 µs, which was a sixth of an
// epoch.
func (f *File) isCached(address uint64, n int) bool {
	at, err := f.span(address, n)
	if err != nil || f.file == nil {
		return false
	}
	var b [1]byte
	got, err := unix.Preadv2(int(f.file.Fd()), [][]byte{b[:]}, at, unix.RWF_NOWAIT)
	return got == 1 && err == nil
}

// readCached fills b with the bytes of a file from at on, if they are in the page cache,
// and reports whether it did. The system call does not wait, so the scheduler need not
// hear of it: that is 5 to 10 % of the time to read 12 KiB.
func readCached(fd uintptr, b []byte, at int64) bool {
	const most = 1 << 20 // longer calls would delay garbage collections
	if len(b) == 0 || len(b) > most {
		return false
	}
	vector := unix.Iovec{Base: unsafe.SliceData(b)}
	vector.SetLen(len(b))
	n, _, err := unix.RawSyscall6(unix.SYS_PREADV2, fd, uintptr(unsafe.Pointer(&vector)), 1, uintptr(at), uintptr(uint64(at)>>32), unix.RWF_NOWAIT)
	return err == 0 && int(n) == len(b)
}

// self is a descriptor of this process, or -1 if there is none.
var self = sync.OnceValue(func() int {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return -1
	}
	return fd
})

// dontNeed unmaps the pages of several parts of a mapping: with one call, and one
// interruption of other processors, since Linux 6.16.
func dontNeed(parts [][]byte) error {
	const most = 1024 // IOV_MAX
	if fd := self(); fd >= 0 && len(parts) > 1 && len(parts) <= most {
		vector, total := make([]unix.Iovec, len(parts)), 0
		for i, b := range parts {
			vector[i].Base = unsafe.SliceData(b)
			vector[i].SetLen(len(b))
			total += len(b)
		}
		n, _, err := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&vector[0])), uintptr(len(vector)), unix.MADV_DONTNEED, 0, 0)
		if err == 0 && int(n) == total {
			return nil
		}
	}
	return dontNeedEach(parts)
}
