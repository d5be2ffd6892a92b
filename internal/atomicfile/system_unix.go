//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes opening a symbolic link an error.
const noFollow = unix.O_NOFOLLOW

// errHeld is the error of lockFile if the file is locked already.
var errHeld = unix.EWOULDBLOCK

// lockFile locks an open file, until it is closed.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// checkWritable returns an error if the file at path may not be written.
func checkWritable(path string) error { return unix.Access(path, unix.W_OK) }

// copyOwner gives f the owner of another file, if the system allows that.
func copyOwner(f *os.File, other fs.FileInfo) {
	if was, ok := other.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(was.Uid), int(was.Gid))
	}
}

// syncDir makes a rename in dir durable, on file systems that can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
