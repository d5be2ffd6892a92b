package hdf5

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/h5dnn/h5dnn/storage"
)

// A mapping is the whole file in memory, for reading many small pieces of it
// without a system call for each. The system fetches pages as they are touched.
type mapping struct {
	mu      sync.Mutex
	file    *storage.Mapping // nil until needed
	closed  bool
	touched atomic.Int64 // bytes, since pages were last given back
}

// maxResident is about how many bytes of the file stay in this process' memory.
// Beyond that their pages are given back; the system's own cache still has them.
var maxResident = 128 << 20 // but for tests

// of maps file, once.
func (m *mapping) of(file *os.File) (*storage.Mapping, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	var err error
	if m.file == nil {
		m.file, err = storage.Map(file)
	}
	return m.file, err
}

func (m *mapping) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed = true; m.file != nil {
		return m.file.Close()
	}
	return nil
}

// mapped returns n bytes at an address as a storage.
func (f *File) mapped(address uint64, n int) (*storage.Mapped, error) {
	at, err := f.span(address, n)
	if err != nil {
		return nil, err
	}
	all, err := f.mapping.of(f.file)
	if err != nil {
		return nil, err
	}
	return all.Range(at, int64(n))
}

// withMapped lets use see n bytes at an address.
func (f *File) withMapped(address uint64, n int, use func([]byte)) error {
	m, err := f.mapped(address, n)
	if err != nil {
		return err
	}
	err = m.WithBytes(func(b []byte) error {
		use(b)
		return nil
	})
	f.countTouched(n + faultAround)
	return err
}

// faultAround is what one touch of a page brings in, where it is in the system's cache.
const faultAround = 64 << 10

// countTouched counts n bytes of the mapping as brought in.
func (f *File) countTouched(n int) {
	if f.size > maxResident && f.mapping.touched.Add(int64(n)) > int64(maxResident) {
		f.mapping.touched.Store(0)
		f.ReleasePages()
	}
}

// ReleasePages returns the mapped pages of the file to the system, which keeps them in
// its own cache. It reduces the resident memory of the process.
func (f *File) ReleasePages() {
	all, err := f.mapping.of(f.file)
	if err != nil {
		return
	}
	if m, err := all.Range(0, int64(all.Len())); err == nil {
		m.WithBytes(func(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) })
	}
}

func (m *mapping) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}
