package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A Mapping is a file mapped into memory, to be read only. Any number of
// [Mapped] storages show parts of it, and keep it mapped.
//
// A file may shrink while it is mapped, and reading beyond its end would kill the
// process. So its bytes are accessible only through [Mapped.ReadView] and
// [Mapped.WithBytes], which return an error instead, and are never passed to C.
type Mapping struct {
	*region
	device  Device
	mu      sync.RWMutex // held for reading while bytes are, for writing to unmap
	cleanup runtime.Cleanup
	pages   touchedPages
}

// A region is the resources of a Mapping.
type region struct {
	f     *os.File
	bytes []byte // nil once closed
}

// Map maps all of f at its present size. It duplicates the descriptor: f may be closed
// at any time.
func Map(f *os.File) (*Mapping, error) {
	m, err := mapFile(f)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	return m, nil
}

func mapFile(f *os.File) (*Mapping, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file: %w", ErrDevice)
	}
	if info.Size() != int64(int(info.Size())) {
		return nil, fmt.Errorf("%d bytes are more than can be addressed: %w", info.Size(), ErrDevice)
	}
	duplicate, bytes, err := mapPages(f, int(info.Size()))
	if err != nil {
		return nil, err
	}
	r := &region{duplicate, bytes}
	m := &Mapping{region: r, device: File(f.Name()), pages: touchedPages{of: map[int64]int{}}}
	m.cleanup = runtime.AddCleanup(m, func(r *region) { r.release() }, r)
	return m, nil
}

func (r *region) release() error {
	var err error
	if len(r.bytes) > 0 {
		err = unmapPages(r.bytes)
	}
	r.bytes = nil
	return errors.Join(err, r.f.Close())
}

// Name returns the name of the mapped file.
func (m *Mapping) Name() string { return m.f.Name() }

// Len returns how many bytes are mapped.
func (m *Mapping) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.bytes)
}

// Close unmaps the file, after reads in progress. Later reads return an error of kind
// [ErrState]. A mapping that is no longer reachable is closed by the garbage collector.
func (m *Mapping) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes == nil {
		return nil
	}
	m.cleanup.Stop()
	return m.release()
}

// Range returns the storage of n bytes from offset on.
func (m *Mapping) Range(offset, n int64) (*Mapped, error) {
	if have := int64(m.Len()); offset < 0 || n < 0 || offset > have || n > have-offset {
		return nil, fmt.Errorf("%s: bytes %d to %d of %d: %w", m.Name(), offset, uint64(offset)+uint64(n), have, ErrState)
	}
	return &Mapped{m, int(offset), int(n)}, nil
}

// Mapped is a [Source] that shows part of a mapped file. Elements need no
// alignment in it.
type Mapped struct {
	mapping     *Mapping
	offset, len int
}

func (m *Mapped) Len() int       { return m.len }
func (m *Mapped) Device() Device { return m.mapping.device }

// ReadView copies the elements that v selects.
func (m *Mapped) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if !t.Valid() || !v.Within(m.len/t.Size()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes: %w", m.mapping.Name(), t, v.Shape, m.len, views.ErrShape)
	}
	if v.Contiguous() {
		n := v.Len() * t.Size()
		m.mapping.ReleaseReadInOrder(int64(m.offset), n)
		return m.mapping.readAt(dst[:n], int64(m.offset+v.Offset*t.Size()))
	}
	lo, hi := v.Bounds()
	return m.Scan(int64(m.offset), m.len, (hi-lo+1)*t.Size(), func(b []byte) error {
		Gather(dst, b, t, v)
		return nil
	})
}

// readAt reads bytes of the file without mapping their pages, which would count as memory of the
// process. It is no slower than copying from the mapping, which takes a system call, too.
func (m *Mapping) readAt(dst []byte, at int64) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.bytes == nil {
		return m.errClosed()
	}
	switch n, err := m.f.ReadAt(dst, at); {
	case n == len(dst):
		return nil
	case err == io.EOF:
		return m.errTruncated(at+int64(n), at+int64(len(dst)))
	default:
		return fmt.Errorf("%s: %w", m.Name(), err)
	}
}

func (m *Mapping) errClosed() error {
	return fmt.Errorf("%s: was closed; open it again to read its arrays: %w", m.Name(), ErrState)
}

func (m *Mapping) errTruncated(size, end int64) error {
	return fmt.Errorf("%s: file was truncated to %d bytes while in use, %d are needed: %w", m.Name(), size, end, ErrState)
}

// A touchedPages counts how many bytes of mapped pages the process may have, by the arrays
// that were read.
type touchedPages struct {
	mu      sync.Mutex
	of      map[int64]int // by the offset of the array
	total   int
	largest int // size of an array
}

// Pages stay mapped for the largest array, if it is not very large, and a few more.
const (
	keptTouched = 16 << 20
	largeArray  = 1 << 30
)

// faultAround is how many bytes a page fault maps if they are in the page cache
// (fault_around_bytes of Linux), and so a small read too.
const faultAround = 64 << 10

// Scan is [Mapped.WithBytes] for a function that reads about n bytes of pages, of an array at an
// offset with the given size. The pages of all arrays are first given back to the system, which keeps
// them in its cache, if they are many more than the largest array takes: a file that is copied in order
// has no use for them, and an array that is read in any order keeps its own.
func (m *Mapped) Scan(offset int64, size, n int, read func(b []byte) error) error {
	return m.WithBytes(func(b []byte) error {
		m.mapping.touch(offset, size, n+faultAround)
		return read(b)
	})
}

// touch counts n bytes of pages that are about to be read.
func (m *Mapping) touch(offset int64, size, n int) {
	p := &m.pages
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, size-p.of[offset])
	if p.largest = max(p.largest, size); p.total+n > min(p.largest, largeArray)+keptTouched {
		n += p.of[offset]
		p.release(m.bytes)
		p.largest = size
	}
	p.of[offset] += n
	p.total += n
}

// release gives all pages of a mapping back to the system.
func (p *touchedPages) release(mapped []byte) {
	ReleasePages(mapped) // advice
	clear(p.of)
	p.total, p.largest = 0, 0
}

// orderedRead is how many consecutive bytes are read at once where an array is read in order.
const orderedRead = 1 << 20

// ReleaseReadInOrder gives the pages of all arrays back to the system if those of the array at an
// offset were scanned and many of its bytes, n in a row, are about to be read by a system call: it was
// copied in another order before, and is compared with the copy now, whose pages may be as many.
func (m *Mapping) ReleaseReadInOrder(offset int64, n int) {
	m.mu.RLock() // before the pages' lock, as in Scan
	defer m.mu.RUnlock()
	m.pages.mu.Lock()
	defer m.pages.mu.Unlock()
	if n >= orderedRead && m.pages.of[offset] > keptTouched {
		m.pages.release(m.bytes)
	}
}

// WithBytes calls read with the mapped bytes. read must be Go code on this goroutine,
// and must neither keep nor write them. If the file was truncated before the end of
// the bytes, even while read ran, the result is an error of kind [ErrState] whatever
// read returned, and what read saw may be wrong.
func (m *Mapped) WithBytes(read func(b []byte) error) error {
	s := m.mapping
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.bytes == nil {
		return s.errClosed()
	}
	err := s.catchFaults(s.bytes[m.offset:][:m.len:m.len], read)
	// Up to the end of its page, the truncated part reads as zeros, without a fault.
	info, statErr := s.f.Stat()
	if statErr != nil {
		return fmt.Errorf("%s: %w", s.Name(), statErr)
	}
	if end := int64(m.offset + m.len); m.len > 0 && info.Size() < end {
		return s.errTruncated(info.Size(), end)
	}
	return err
}

// catchFaults calls read and returns a page fault within the mapping as an error.
func (m *Mapping) catchFaults(b []byte, read func([]byte) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			start := uintptr(unsafe.Pointer(unsafe.SliceData(m.bytes)))
			if at := fault.Addr(); at < start || at-start >= uintptr(len(m.bytes)) {
				panic(fault)
			}
			err = fmt.Errorf("%s: reading the file failed at byte %d: %w", m.Name(), fault.Addr()-start, ErrState)
		default:
			panic(fault)
		}
	}()
	return read(b)
}
