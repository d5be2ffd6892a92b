package hdf5

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/h5dnn/h5dnn/storage"
)

// A mapping is the file mapped into memory, so that many small reads need no system
// calls. The kernel loads pages as they are accessed.
type mapping struct {
	mu      sync.Mutex
	file    *storage.Mapping // nil until it is needed
	closed  bool
	touched atomic.Int64 // bytes accessed since pages were last released
}

// maxResident is the approximate limit of a mapped file's bytes in the memory of the
// process. Beyond it pages are released; the system's cache keeps them. Tests change it.
var maxResident = 128 << 20

// of maps file on first use.
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

// mapped returns n mapped bytes at an address.
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

// withMapped calls use with n mapped bytes at an address.
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

// faultAround is the number of bytes that a page fault maps if they are in the system's
// cache (fault_around_bytes of Linux).
const faultAround = 64 << 10

// countTouched counts n bytes of the mapping as accessed.
func (f *File) countTouched(n int) {
	if f.size > maxResident && f.mapping.touched.Add(int64(n)) > int64(maxResident) {
		f.mapping.touched.Store(0)
		f.ReleasePages()
	}
}

// ReleasePages returns the mapped pages of the file to the system, which keeps them in
// its cache. It reduces the resident memory of the process.
func (f *File) ReleasePages() {
	if f.file == nil {
		return
	}
	all, err := f.mapping.of(f.file)
	if err != nil {
		return
	}
	if m, err := all.Range(0, int64(all.Len())); err == nil {
		m.WithBytes(func(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) })
	}
}

// largePage is the size of large pages, and of what one page table covers: a page fault
// maps bytes around the one that was accessed, but none beyond this boundary.
const largePage = 2 << 20

// advise gives the system advice about the pages of n bytes at an address. Advice that
// they are not needed includes pages around them that page faults may have mapped.
func (f *File) advise(address uint64, n, advice int) error {
	at, err := f.span(address, n)
	if err != nil || f.file == nil {
		return err
	}
	m, err := f.mapping.of(f.file)
	if err != nil {
		return err
	}
	all, err := m.Range(0, int64(m.Len()))
	if err != nil {
		return err
	}
	page := unix.Getpagesize()
	if advice == unix.MADV_DONTNEED {
		page = largePage
	}
	return all.WithBytes(func(b []byte) error {
		base := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
		first := max(0, (base+int(at))/page*page-base)
		end := min(len(b), (base+int(at)+n+page-1)/page*page-base)
		return unix.Madvise(b[first:end], advice)
	})
}
