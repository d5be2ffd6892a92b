package hdf5

import "golang.org/x/sys/unix"

// isCached reports whether the first and the last of n bytes at an address are in the
// page cache, as a sample of all of them. To ask takes 1 µs; advice to read 1 MiB that
// is in the cache already took 23 µs, which was a sixth of an epoch.
func (f *File) isCached(address uint64, n int) bool {
	at, err := f.span(address, n)
	if err != nil || f.file == nil {
		return false
	}
	var b [1]byte
	for _, at := range []int64{at, at + int64(n) - 1} {
		got, err := unix.Preadv2(int(f.file.Fd()), [][]byte{b[:]}, at, unix.RWF_NOWAIT)
		if got != 1 || err != nil {
			return false
		}
	}
	return true
}
