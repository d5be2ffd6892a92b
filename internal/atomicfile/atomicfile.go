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
	"strings"
	"syscall"
)

// A File is written under a temporary name in the directory of its path and
// renamed to the path by Commit. Its temporary name begins with a dot and ends in
// ".partial". It is locked while its process lives, so that the next writer of the
// same path can recognise and remove what a killed process left behind.
type File struct {
	*os.File             // named by its temporary name
	path     string      // with symbolic links resolved
	old      fs.FileInfo // of the file that is replaced, or nil
	noSync   bool
	ended    bool
	written  int // bytes since the last startWriteback
}

// Options configure Create.
type Options struct {
	// NoSync lets the system choose when data reaches the disk. Other processes
	// still see the old content or the new; a machine that crashes may lose both.
	NoSync bool
}

// Create opens a new file for writing that Commit will put at path. The file has
// the permissions of the one it replaces, which must be writable. If path is a
// symbolic link, the file it points to is replaced and the link stays.
func Create(path string, o Options) (*File, error) {
	path, old, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if old != nil {
		if err := checkWritable(path); err != nil {
			return nil, &fs.PathError{Op: "replace", Path: path, Err: err}
		}
	}
	removeAbandoned(path)
	f, err := createTemp(path, old)
	if err != nil {
		return nil, err
	}
	unfinished.add(f.Name())
	return &File{File: f, path: path, old: old, noSync: o.NoSync}, nil
}

// Write replaces the file at path by what write writes to f. A writer that needs a
// path instead of a file may write to the file named f.Name(). If write fails or
// panics, the old file is unchanged and nothing else is left.
func Write(path string, write func(f *File) error) error {
	f, err := Create(path, Options{})
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}

// writebackSize is the number of bytes after which the system is asked to write them to disk.
const writebackSize = 8 << 20

// Write writes to the file. The system writes large files to disk while they are written,
// so that Commit waits for little; by itself it would begin seconds later, or in Commit.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	if f.written += n; f.written >= writebackSize && !f.noSync {
		f.written = 0
		startWriteback(f.File)
	}
	return n, err
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
	unfinished.remove(f.Name())
	return err
}

func (f *File) commit() error {
	if f.old != nil {
		if err := os.Chmod(f.Name(), f.old.Mode().Perm()); err != nil { // by name, under which a writer may have put another file
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
		unfinished.remove(f.Name())
	}
}

// resolve follows symbolic links from path, and returns the file at their end with
// what is known of it, or nil if there is no file yet.
func resolve(path string) (string, fs.FileInfo, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // such as /dev/stdout
			return "", nil, irregular(path)
		}
		if _, err := os.Lstat(path); err == nil {
			return "", nil, fmt.Errorf("%s is a symbolic link to a file that does not exist; remove it first: %w", path, fs.ErrNotExist)
		}
		return path, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, irregular(path)
	}
	return target, info, nil
}

func irregular(path string) error {
	return fmt.Errorf("%s is not a regular file and cannot be replaced: %w", path, fs.ErrInvalid)
}

// CheckWritable returns the error that Create would, and leaves nothing.
func CheckWritable(path string) error {
	f, err := Create(path, Options{})
	if err == nil {
		f.Discard()
	}
	return err
}

// suffix ends temporary names, after a dot and eight random digits.
const suffix = ".partial"

// createTemp creates and locks a file with a new name in the directory of path, from
// where it can be renamed without a copy. While it is written, its owner may read and
// write it and others may do what they may do with the file that it replaces, whose
// owner it gets if the system allows that.
func createTemp(path string, old fs.FileInfo) (*os.File, error) {
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = old.Mode().Perm() | 0o600
	}
	for range 100 {
		name := hidden(path, fmt.Sprintf(".%08x%s", rand.Uint32(), suffix))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) { // with the temporary name
			failed.Op, failed.Path = "create a file in", filepath.Dir(path)
		}
		if err != nil {
			return nil, err
		}
		// On file systems without locks, nothing is removed either.
		if err := lockFile(f); errors.Is(err, errHeld) || !isNamed(f, name) {
			f.Close() // another process took it for abandoned before it was locked
			continue
		}
		if old != nil {
			copyOwner(f, old)
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s: every temporary name tried is taken: %w", path, fs.ErrExist)
}

// Interrupted reports whether a process was killed while it wrote the file at path: there is a
// temporary file for it that no process has locked.
func Interrupted(path string) bool {
	interrupted := false
	abandoned(path, func(string) { interrupted = true })
	return interrupted
}

// removeAbandoned removes temporary files for path that no process has locked, and temporary
// files for these, which writers of files in a Set leave.
func removeAbandoned(path string) {
	abandoned(path, func(name string) { os.Remove(name) })
}

// abandoned calls do with the files that removeAbandoned removes, while it has them locked.
func abandoned(path string, do func(name string)) {
	const end = ".????????" + suffix
	begin := strings.TrimSuffix(hidden(path, end), end)
	left, _ := filepath.Glob(escapeGlob(begin) + end)
	within, _ := filepath.Glob(escapeGlob(filepath.Join(filepath.Dir(begin), "."+filepath.Base(begin))) + end + end)
	for _, name := range append(left, within...) {
		f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK|noFollow, 0)
		if err != nil {
			continue
		}
		if lockFile(f) == nil {
			do(name)
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
