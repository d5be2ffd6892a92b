package storage

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"
)

// CPU is the host's own memory.
var CPU Device = cpu{}

// alignment of what CPU allocates: a cache line, and the widest vector register.
const alignment = 64

type cpu struct{}

func (cpu) String() string { return "cpu" }

// Alloc returns zeros, as all new memory in Go.
func (cpu) Alloc(size int) (Storage, error) {
	if err := fits(size); err != nil {
		return nil, err
	}
	return newHeap(size), nil
}

// fits refuses sizes beyond the memory of the machine, for which Go would abort the
// process.
func fits(size int) error {
	if size < 0 || size > memory() {
		return fmt.Errorf("allocate %d bytes: this machine has %d: %w", size, memory(), ErrState)
	}
	return nil
}

func (c cpu) Upload(dst Storage, offset int, src []byte) error {
	b, err := c.span("upload to", dst, offset, len(src))
	copy(b, src)
	return err
}

func (c cpu) Download(dst []byte, src Storage, offset int) error {
	b, err := c.span("download from", src, offset, len(dst))
	copy(dst, b)
	return err
}

// span returns n bytes of a storage of the host.
func (c cpu) span(act string, s Storage, offset, n int) ([]byte, error) {
	host, ok := s.(Host)
	if !ok || s.Device() != CPU {
		return nil, fmt.Errorf("%s cpu: of a storage on %v: %w", act, s.Device(), ErrDevice)
	}
	if err := CheckRange(host, offset, n); err != nil {
		return nil, fmt.Errorf("%s cpu: %w", act, err)
	}
	return host.Bytes()[offset : offset+n], nil
}

func (cpu) Sync() error { return nil }

// CheckRange checks that s has n bytes from offset on, as Upload and Download must.
func CheckRange(s Storage, offset, n int) error {
	if offset < 0 || n < 0 || offset > s.Len() || n > s.Len()-offset {
		return fmt.Errorf("bytes %d to %d of %d: %w", offset, offset+n, s.Len(), ErrState)
	}
	return nil
}

// A heap is a Storage in the memory of Go, or in an arena. It holds no pointers, so the garbage
// collector does not scan it.
type heap struct {
	bytes    []byte
	lent     part // of hostMemory, if not empty
	version  atomic.Uint64
	recycled atomic.Bool
}

var _ Recyclable = (*heap)(nil)

func (h *heap) Recycle() Storage {
	h.recycled.Store(true)
	return &heap{bytes: h.bytes}
}

func (h *heap) Recycled() bool { return h.recycled.Load() }

func newHeap(size int) *heap {
	if size > 0 && size%alignment == 0 { // mostly aligned by Go, which has such sizes
		if b := make([]byte, size); uintptr(unsafe.Pointer(unsafe.SliceData(b)))%alignment == 0 {
			return &heap{bytes: b}
		}
	}
	return aligned(make([]byte, size+alignment-1), size)
}

// Uninitialized returns host memory that holds anything.
func Uninitialized(size int) (Storage, error) {
	if err := fits(size); err != nil {
		return nil, err
	}
	if size < large {
		return newHeap(size), nil
	}
	var memory strings.Builder // the only memory that Go does not clear
	memory.Grow(size + alignment)
	memory.WriteByte(0)
	b := unsafe.Slice(unsafe.StringData(memory.String()), size+alignment)
	return aligned(b, size), nil
}

// large is the size from which on it takes longer to clear memory than to allocate it.
const large = 16 << 10

func aligned(b []byte, size int) *heap {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % alignment
	return &heap{bytes: b[skip:][:size:size]}
}

// Wrap returns the storage on [CPU] that shares b.
func Wrap(b []byte) Storage { return &heap{bytes: b} }

func (h *heap) Len() int        { return len(h.bytes) }
func (h *heap) Device() Device  { return CPU }
func (h *heap) Bytes() []byte   { return h.bytes }
func (h *heap) Version() uint64 { return h.version.Load() }
func (h *heap) BumpVersion()    { h.version.Add(1) }
