package serialize

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// Replace writes a new file and, once it is written and on disk, lets it take
// the name of the old one. If write fails, or the machine does, the old file
// is as it was; at worst a file ending in .partial is left beside it.
//
// A writer that needs a path instead of a file takes f.Name(), and writes into
// the file there. The permissions of an old file are kept; a symbolic link stays
// one, and the file it leads to is replaced.
func Replace(name string, write func(f *os.File) error) error {
	name, mode, err := target(name)
	if err != nil {
		return err
	}
	f, err := beside(name)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // in vain where all went well
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// target returns the file that name leads to and its permissions, 0 if there is none.
func target(name string) (string, fs.FileMode, error) {
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			return "", 0, fmt.Errorf("%s is a symbolic link to nowhere; remove it first: %w", name, fs.ErrNotExist)
		}
		return name, 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("%s is not a regular file and cannot be replaced: %w", name, fs.ErrInvalid)
	}
	return real, info.Mode().Perm(), nil
}

// beside creates a file of a new name in the directory of name, where a rename
// does not copy.
func beside(name string) (*os.File, error) {
	for range 100 {
		f, err := os.OpenFile(fmt.Sprintf("%s.%08x.partial", name, rand.Uint32()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			failed.Path = name // not one that was made up
		}
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s: no free name beside it: %w", name, fs.ErrExist)
}

// syncDir makes a rename in dir last, on file systems that can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
