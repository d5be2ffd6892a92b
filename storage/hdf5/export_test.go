package hdf5

import "testing"

// SetMaxResident changes the size from which files are not kept mapped.
func SetMaxResident(t testing.TB, bytes int) {
	old := maxMapped
	t.Cleanup(func() { maxMapped = old })
	maxMapped = bytes
}

// MissingSources reports whether a virtual dataset has sources that do not exist.
func (d *Dataset) MissingSources() bool { return len(d.resolved) < len(d.mappings) }

// CheckReadable returns an error if the elements cannot be read.
func (d *Dataset) CheckReadable() error { return d.checkReadable() }

// CachedBytes returns the size of the decoded chunks in the cache.
func (f *File) CachedBytes() int { return f.chunks.bytes }

// Linked returns the file that f refers to by name.
func (f *File) Linked(name string) (*File, error) { return f.linkedFile(name) }
