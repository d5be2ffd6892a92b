// Package atomicfile replaces files atomically: a reader sees the old content or
// the new, never a part, also after a crash.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A File is written under a temporary name in the directory of its path and
// renamed to the path by Commit. Its temporary name begins with a dot and ends in
// ".partial". It is locked while its process lives, so that the next writer of the
// same path can recognise and remove what a killed process left behind.
type File struct {
	*os.File             // named by its temporary name
	path     string      // with symbolic links resolved
	perm     fs.FileMode // of the file that is replaced, or 0
	noSync   bool
	ended    bool
}

// Options configure Create.
type Options struct {
	// NoSync lets the system choose when data reaches the disk. Other processes
	// still see the old content or the new; a machine that crashes may lose both.
	NoSync bool
}

// Create opens a new file for writing that Commit will put at path. The file has
// the permissions of the one it replaces. If path is a symbolic link, the file it
// points to is replaced and the link stays.
func Create(path string, o Options) (*File, error) {
	path, perm, err := resolve(path)
	if err != nil {
		return nil, err
	}
	removeAbandoned(path)
	f, err := createTemp(path, perm)
	if err != nil {
		return nil, err
	}
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // on file systems without locks nothing is removed either
	return &File{File: f, path: path, perm: perm, noSync: o.NoSync}, nil
}

// Write replaces the file at path by what write writes to f. A writer that needs a
// path instead of a file may write to the file named f.Name(). If write fails or
// panics, the old file is unchanged and nothing else is left.
func Write(path string, write func(f *os.File) error) error {
	f, err := Create(path, Options{})
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f.File); err != nil {
		return err
	}
	return f.Commit()
}

// Path returns the path that the file will have.
func (f *File) Path() string { return f.path }

// Commit flushes the file to disk, closes it and renames it to its path. After an
// error the old file is unchanged and the new one is removed, unless the error is that
// the directory could not be flushed after the rename: then the new file is in place.
func (f *File) Commit() error {
	if f.ended {
		return fs.ErrClosed
	}
	err := f.commit()
	if err != nil {
		f.Discard()
	}
	f.ended = true
	return err
}

func (f *File) commit() error {
	if f.perm != 0 {
		if err := f.Chmod(f.perm); err != nil {
			return err
		}
	}
	if !f.noSync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	if f.noSync {
		return nil
	}
	return syncDir(filepath.Dir(f.path))
}

// Discard closes and removes the file. After Commit or Discard it does nothing, so
// that it can be deferred.
func (f *File) Discard() {
	if !f.ended {
		f.ended = true
		f.Close()
		os.Remove(f.Name())
	}
}

// resolve follows symbolic links from path, and returns the file at their end and
// its permissions, or 0 if there is no file yet.
func resolve(path string) (string, fs.FileMode, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", 0, fmt.Errorf("%s is a symbolic link to a file that does not exist; remove it first: %w", path, fs.ErrNotExist)
		}
		return path, 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("%s is not a regular file and cannot be replaced: %w", path, fs.ErrInvalid)
	}
	return target, info.Mode().Perm(), nil
}

const (
	suffix    = ".partial"
	maxPrefix = 255 - len("..") - len("xxxxxxxx") - len(suffix) // bytes of a name; file systems allow 255
)

// prefix returns what temporary names for path begin with.
func prefix(path string) string {
	dir, name := filepath.Split(path)
	return dir + "." + name[:min(len(name), maxPrefix)] + "."
}

// createTemp creates a file with a new name in the directory of path, from where
// it can be renamed without a copy. While it is written, its owner may read and
// write it and others may do what perm allows.
func createTemp(path string, perm fs.FileMode) (*os.File, error) {
	mode := perm | 0o600
	if perm == 0 {
		mode = 0o666 // less the umask
	}
	for range 100 {
		f, err := os.OpenFile(fmt.Sprintf("%s%08x%s", prefix(path), rand.Uint32(), suffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			failed.Path = path // instead of the temporary name
		}
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s: every temporary name tried is taken: %w", path, fs.ErrExist)
}

// removeAbandoned removes temporary files for path that no process has locked. A
// file younger than a minute is kept, because its process may not have locked it
// yet.
func removeAbandoned(path string) {
	left, _ := filepath.Glob(escapeGlob(prefix(path)) + "????????" + suffix)
	for _, name := range left {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil && time.Since(info.ModTime()) > time.Minute && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.Remove(name)
		}
		f.Close()
	}
}

func escapeGlob(name string) string {
	var escaped []byte
	for _, c := range []byte(name) {
		switch c {
		case '*', '?', '[', '\\':
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, c)
	}
	return string(escaped)
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
