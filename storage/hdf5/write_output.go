package hdf5

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

// An output is a file on its way to its name: it lies beside it until commit,
// under a name that begins with a dot and ends in .partial. It is locked while
// its process lives, so that what a killed one left can be told and removed.
type output struct {
	path, temp string
	f          *os.File
	sync       bool
}

func newOutput(path string, sync bool) (*output, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays, the file it names is replaced
	}
	old, err := os.Stat(path)
	if err == nil && !old.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file and cannot be replaced: %w", path, fs.ErrInvalid)
	}
	removeAbandoned(path)
	temp := fmt.Sprintf("%s%08x%s", partialPrefix(path), rand.Uint32(), partialSuffix)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		failed.Path = path // not one that was made up
	}
	if err != nil {
		return nil, err
	}
	if old != nil {
		f.Chmod(old.Mode().Perm()) // if it cannot be kept, nothing is lost
	}
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // where there are no locks, nothing is removed either
	return &output{path, temp, f, sync}, nil
}

const partialSuffix = ".partial"

func partialPrefix(path string) string {
	dir, name := filepath.Split(path)
	if len(name) > 200 { // of the 255 bytes a name may have
		name = name[:200]
	}
	return dir + "." + name + "."
}

// removeAbandoned removes what killed writers of path left. A file younger than
// a minute may not have got its lock yet.
func removeAbandoned(path string) {
	left, _ := filepath.Glob(escapeGlob(partialPrefix(path)) + "????????" + partialSuffix)
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

// commit makes the file durable and gives it its name.
func (o *output) commit() error {
	var err error
	if o.sync {
		err = o.f.Sync()
	}
	if err = errors.Join(err, o.f.Close()); err != nil {
		os.Remove(o.temp)
		return err
	}
	if err := os.Rename(o.temp, o.path); err != nil {
		os.Remove(o.temp)
		return err
	}
	if !o.sync {
		return nil
	}
	return syncDir(filepath.Dir(o.path))
}

func (o *output) discard() {
	o.f.Close()
	os.Remove(o.temp)
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}
