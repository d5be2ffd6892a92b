package storage

import (
	"errors"
	"fmt"
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
// A file may shrink while it is mapped, and reading what is gone would kill the
// process. So the bytes are reached through [Mapped.ReadView] and [Mapped.WithBytes]
// alone, which turn that into an error, and never handed to C.
type Mapping struct {
	*region
	device Device
	mu     sync.RWMutex // held for reading while bytes are, for writing to unmap
	net    runtime.Cleanup
}

// A region is what a Mapping has to give back.
type region struct {
	f     *os.File
	bytes []byte // nil once closed
}

// Map maps the whole of f, as large as it is now. It keeps a descriptor of its
// own: f may be closed at any time.
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
	m.net = runtime.AddCleanup(m, func(r *region) { r.release() }, r)
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

// Close unmaps the file, after reads in progress. To read it later is an error
// of kind [ErrState]. A mapping that nothing reaches any more closes by itself.
func (m *Mapping) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes == nil {
		return nil
	}
	m.net.Stop()
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

// ReadView copies what v selects. A file that lost it since is an error.
func (m *Mapped) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if !t.Valid() || !v.Within(m.len/t.Size()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes: %w", m.mapping.Name(), t, v.Shape, m.len, views.ErrShape)
	}
	return m.WithBytes(func(b []byte) error {
		Gather(dst, b, t, v)
		return nil
	})
}

// WithBytes lends the mapped bytes to read, which must be Go code on this goroutine,
// and must neither keep them nor write to them. If the file has lost any of them, even in the
// meantime, the result is an error of kind [ErrState] whatever read returned,
// and what read saw is not to be trusted.
func (m *Mapped) WithBytes(read func(b []byte) error) error {
	s := m.mapping
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.bytes == nil {
		return fmt.Errorf("%s: was closed; open it again to read its arrays: %w", s.Name(), ErrState)
	}
	err := s.guard(s.bytes[m.offset:][:m.len:m.len], read)
	// Up to the end of a page, what is cut off reads as zeros, without a fault.
	info, statErr := s.f.Stat()
	if statErr != nil {
		return fmt.Errorf("%s: %w", s.Name(), statErr)
	}
	if end := int64(m.offset + m.len); m.len > 0 && info.Size() < end {
		return fmt.Errorf("%s: file was cut to %d bytes while in use, %d are needed: %w", s.Name(), info.Size(), end, ErrState)
	}
	return err
}

// guard calls read and turns a fault within the mapping into an error.
func (m *Mapping) guard(b []byte, read func([]byte) error) (err error) {
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
