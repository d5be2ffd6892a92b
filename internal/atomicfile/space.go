package atomicfile

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// CheckSpace returns an error of kind syscall.ENOSPC if the disk of a path has no room for a new
// file of that many bytes. The error
// does not name the path. A file that is replaced stays until the new one is complete.
func CheckSpace(path string, size int64) error {
	path, _, err := resolve(path)
	if err != nil {
		return err
	}
	free, known := FreeSpace(filepath.Dir(path))
	if !known || size <= free {
		return nil
	}
	return fmt.Errorf("the file needs %s and its disk has %s free; make room or choose another disk: %w", inUnits(size), inUnits(free), syscall.ENOSPC)
}

// CheckSpace returns an error of kind syscall.ENOSPC if the disk has no room for size bytes. Writers that
// know the size of a file call it before they write, so that they do not fail after hours.
func (f *File) CheckSpace(size int64) error { return CheckSpace(f.path, size) }

// inUnits writes a number of bytes with a unit.
func inUnits(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", x, units[i])
}
