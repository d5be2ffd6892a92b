package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked is the kind of error for a path that is locked.
var ErrLocked = errors.New("in use by another program")

// A PathLock keeps others from locking the same path. It is a lock on an empty file
// beside the path, whose name begins with a dot and ends in ".lock". The system
// releases it when the process ends, however that happens.
type PathLock struct{ file *os.File }

// Lock locks a path, whether there is a file or not. It is an error of kind ErrLocked
// if the path is locked, by this process or another. On file systems without locks it
// does nothing.
func Lock(path string) (*PathLock, error) {
	path, _, err := resolve(path)
	if err != nil {
		return nil, err
	}
	name := hidden(path, ".lock")
	for range 100 {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|noFollow, 0o666)
		if errors.Is(err, fs.ErrPermission) { // another user's program was killed
			file, err = os.OpenFile(name, os.O_RDONLY|noFollow, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		err = lockFile(file)
		if errors.Is(err, errHeld) {
			file.Close()
			return nil, fmt.Errorf("%s is %w", path, ErrLocked)
		}
		l := &PathLock{file}
		if err != nil { // there are no locks here
			l.Unlock()
			return &PathLock{}, nil
		}
		if isNamed(file, name) {
			return l, nil
		}
		file.Close() // it was removed by the program that had locked it
	}
	return nil, fmt.Errorf("%s is %w", path, ErrLocked)
}

// Unlock releases the lock. A nil lock is no lock.
func (l *PathLock) Unlock() {
	if l != nil && l.file != nil {
		os.Remove(l.file.Name()) // while it is locked, so that it is ours
		l.file.Close()
	}
}

// isNamed reports whether the open file still has that name.
func isNamed(file *os.File, name string) bool {
	have, err1 := file.Stat()
	named, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(have, named)
}

// hidden returns the name of a file for internal use beside path: it begins with a
// dot and has the suffix. Names are cut to 255 bytes, which file systems allow.
func hidden(path, suffix string) string {
	dir, name := filepath.Split(path)
	return dir + "." + name[:min(len(name), 255-1-len(suffix))] + suffix
}
