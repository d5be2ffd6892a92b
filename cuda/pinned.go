package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// Pinned is page-locked host memory, for asynchronous copies. It is an ordinary storage
// of the CPU otherwise.
type Pinned struct{ bytes []byte }

var _ storage.Host = (*Pinned)(nil)

// Pin allocates page-locked host memory for copies from and to any device. The garbage
// collector frees it.
func (d *Device) Pin(size int) (*Pinned, error) {
	if size < 0 {
		return nil, fmt.Errorf("%v: pin %d bytes: %w", d, size, storage.ErrState)
	}
	if err := d.ready(); err != nil || size == 0 {
		return &Pinned{}, err
	}
	if err := d.refuseDuringCapture(fmt.Sprintf("pin %d bytes of host memory", size)); err != nil {
		return nil, err
	}
	if err := d.freeGarbage(); err != nil {
		return nil, err
	}
	return d.pin(size)
}

func (d *Device) pin(size int) (*Pinned, error) {
	var at unsafe.Pointer
	if err := d.check(fmt.Sprintf("pin %d bytes of host memory", size), C.h5_host_alloc(d.context, &at, C.size_t(size))); err != nil {
		return nil, err
	}
	p := &Pinned{unsafe.Slice((*byte)(at), size)}
	runtime.AddCleanup(p, d.garbage.addPinned, at)
	return p, nil
}

// Len returns the size in bytes.
func (p *Pinned) Len() int { return len(p.bytes) }

// Device returns the cpu: Go can address the memory.
func (p *Pinned) Device() storage.Device { return storage.CPU }

// Bytes returns the memory, for as long as p is kept.
func (p *Pinned) Bytes() []byte { return p.bytes }
