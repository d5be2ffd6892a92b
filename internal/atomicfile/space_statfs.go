//go:build linux || darwin

package atomicfile

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// FreeSpace returns the bytes that this user may add to the file system of a folder, if the
// system tells.
func FreeSpace(folder string) (n int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Blocks == 0 { // file systems without a size, such as FUSE's
		return 0, false
	}
	blocks := uint64(s.Bavail)
	if os.Geteuid() == 0 {
		blocks = s.Bfree
	}
	if size := uint64(s.Bsize); blocks <= math.MaxInt64/size {
		return int64(blocks * size), true
	}
	return 0, false
}
