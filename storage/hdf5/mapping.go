package hdf5

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// A mapping is the file mapped into memory, so that many small reads need no system
// calls. The kernel loads pages as they are accessed.
type mapping struct {
	mu     sync.Mutex
	file   *storage.Mapping   // nil until it is needed
	before []*storage.Mapping // of the file when it was smaller, for arrays that were opened then
	closed bool
}

// maxMapped is the size in bytes of the largest dataset that loaders read from the mapping. Ranges of
// larger ones are read by system calls. Tests change it.
var maxMapped = 128 << 20

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
	m.closed = true
	if m.file != nil {
		m.before = append(m.before, m.file)
	}
	var err error
	for _, file := range m.before {
		err = errors.Join(err, file.Close())
	}
	m.file, m.before = nil, nil
	return err
}

// renew has the next use map the file as it is then.
func (m *mapping) renew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		m.before = append(m.before, m.file)
	}
	m.file = nil
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

// ReleasePages returns the mapped pages of the file to the system, which keeps them in
// its cache. It reduces the resident memory of the process.
func (f *File) ReleasePages() {
	f.withAll(storage.ReleasePages)
}

// willNeed advises the system to read n bytes at an address into its cache.
func (f *File) willNeed(address uint64, n int) error {
	at, err := f.span(address, n)
	if err != nil {
		return err
	}
	return f.withAll(func(all []byte) error {
		return storage.PrefetchPages(clip(all, int(at), int(at)+n, os.Getpagesize()))
	})
}

// withAll calls use with all mapped bytes.
func (f *File) withAll(use func(all []byte) error) error {
	if f.file == nil {
		return nil
	}
	m, err := f.mapping.of(f.file)
	if err != nil {
		return err
	}
	all, err := m.Range(0, int64(m.Len()))
	if err != nil {
		return err
	}
	return all.WithBytes(use)
}

// clip returns bytes start to end-1 of a mapping, and those around them in pages of the
// given size, as far as they are mapped.
func clip(all []byte, start, end, page int) []byte {
	base := int(uintptr(unsafe.Pointer(unsafe.SliceData(all))))
	start = max(0, (base+start)/page*page-base)
	end = min(len(all), (base+end+page-1)/page*page-base)
	return all[min(start, end):end]
}
