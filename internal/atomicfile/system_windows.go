package atomicfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is no flag: resolve has followed the symbolic links of a path.
const noFollow = 0

// errHeld is the error of lockFile if the file is locked already.
var errHeld = windows.ERROR_LOCK_VIOLATION

// lockFile locks an open file, until it is closed. The locked byte is beyond the end of all files, because others could not
// read it.
func lockFile(f *os.File) error {
	at := &windows.Overlapped{Offset: 1<<32 - 2, OffsetHigh: 1<<31 - 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
}

// checkWritable returns an error if the file at path may not be written.
func checkWritable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// copyOwner does nothing: a file belongs to who wrote it.
func copyOwner(*os.File, fs.FileInfo) {}

// syncDir does nothing: folders cannot be flushed.
func syncDir(string) error { return nil }
