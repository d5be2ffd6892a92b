package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback asks the system to write what is in the page cache of f to disk, and does
// not wait for it.
func startWriteback(f *os.File) {
	unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) // advice: Sync reports errors
}
