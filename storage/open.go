package storage

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenFile opens a regular file for reading. A pipe, a device or a socket is an error
// of kind fs.ErrInvalid, and is not waited for.
func OpenFile(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // opening some devices does something
		return nil, notRegular(name, info)
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(name, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func notRegular(name string, info fs.FileInfo) error {
	kind := "not a regular file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("%s is %s; only regular files can be read: %w", name, kind, fs.ErrInvalid)
}
