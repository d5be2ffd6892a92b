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

	"golang.org/x/sys/unix"

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
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, err
	}
	r := &region{os.NewFile(uintptr(fd), f.Name()), []byte{}}
	if info.Size() > 0 {
		if r.bytes, err = unix.Mmap(fd, 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			r.f.Close()
			return nil, err
		}
	}
	m := &Mapping{region: r, device: File(f.Name())}
	m.cleanup = runtime.AddCleanup(m, func(r *region) { r.release() }, r)
	return m, nil
}

func (r *region) release() error {
	var err error
	if len(r.bytes) > 0 {
		err = unix.Munmap(r.bytes)
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
		m.mapping.ReleaseReadInOrder(m.offset, n)
		return m.mapping.readAt(dst[:n], int64(m.offset+v.Offset*t.Size()))
	}
	return m.WithBytes(func(b []byte) error {
		m.mapping.Touch(m.offset, m.len, TouchedBy(inBytes(v, t.Size()), t.Size()))
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
	of      map[int]int // bytes, by the offset of the array
	total   int         // of them
	largest int         // size of an array
}

// keptTouched is how many bytes of pages beyond the size of the largest array may stay mapped.
const keptTouched = 16 << 20

// faultAround is how many bytes a page fault maps if they are in the page cache
// (fault_around_bytes of Linux), and so a small read too.
const faultAround = 64 << 10

// TouchedBy returns about how many bytes of pages reading a view maps, which counts bytes
// between elements of the given size.
func TouchedBy(v views.View, size int) int {
	if v.Len() == 0 {
		return 0
	}
	lo, hi := v.Bounds()
	span, run := hi-lo+size, size // bytes, and those that are consecutive
	for axis := v.Rank() - 1; axis >= 0 && v.Stride[axis] == run; axis-- {
		run *= v.Shape[axis]
	}
	return min(span, v.Len()*size/run*(run+faultAround))
}

// Touch counts n bytes of pages that are about to be read, of the array at an
// offset with the given size. The pages of all arrays are first given back to the system,
// which may keep them in its cache, if they were many more than the largest array takes: a
// file that is copied in order has no use for them, and an array that is read in any order
// keeps its own. Touch must be called by the read function of [Mapped.WithBytes].
func (m *Mapping) Touch(offset, size, n int) {
	p := &m.pages
	p.mu.Lock()
	defer p.mu.Unlock()
	have := p.of[offset]
	n = min(n, size-have)
	if p.largest = max(p.largest, size); p.total+n > p.largest+keptTouched {
		p.release(m.bytes)
		n, have, p.largest = n+have, 0, size
	}
	if p.of == nil {
		p.of = map[int]int{}
	}
	p.of[offset] = have + n
	p.total += n
}

// orderedRead is how many consecutive bytes are read at once where an array is read in order.
const orderedRead = 1 << 20

// ReleaseReadInOrder gives the pages of all arrays back to the system if those of the array at an
// offset were touched and n consecutive bytes of it, which are many, are about to be read by a
// system call: it was copied in another order before, and is compared with the copy now, whose
// pages may be as many.
func (m *Mapping) ReleaseReadInOrder(offset, n int) {
	if n < orderedRead {
		return
	}
	m.mu.RLock() // before that of the pages, as in Touch
	defer m.mu.RUnlock()
	p := &m.pages
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[offset] > keptTouched {
		p.release(m.bytes)
	}
}

// release gives all pages of a mapping back to the system.
func (p *touchedPages) release(mapped []byte) {
	if len(mapped) > 0 {
		unix.Madvise(mapped, unix.MADV_DONTNEED) // advice
	}
	clear(p.of)
	p.total, p.largest = 0, 0
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
