package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

var _ storage.Addressed = (*memory)(nil)

// memory is a Storage on a device. The collector frees it.
type memory struct {
	address uint64
	size    int
	device  *Device
	version atomic.Uint64
}

func (m *memory) Len() int               { return m.size }
func (m *memory) Device() storage.Device { return m.device }
func (m *memory) Address() uint64        { return m.address }
func (m *memory) Version() uint64        { return m.version.Load() }
func (m *memory) Touch()                 { m.version.Add(1) }

// garbage is memory that nothing can reach any more, until the next Alloc or Pin: the
// collector's own goroutine does not talk to the driver.
type garbage struct {
	mu     sync.Mutex
	found  []block
	pinned []unsafe.Pointer
	bytes  int // of the device that are held, garbage included
	count  int
}

type block struct {
	address uint64
	size    int
}

// Alloc returns size bytes of the device's memory; what they hold is undefined.
func (d *Device) Alloc(size int) (storage.Storage, error) {
	if size < 0 {
		return nil, fmt.Errorf("%v: allocate %d bytes: %w", d, size, storage.ErrState)
	}
	if err := d.ready(); err != nil {
		return nil, err
	}
	m := &memory{size: size, device: d}
	if size == 0 {
		return m, nil
	}
	if err := d.unrecorded(fmt.Sprintf("allocate %d bytes", size)); err != nil {
		return nil, err
	}
	if err := d.sweep(); err != nil {
		return nil, err
	}
	address, err := d.alloc(size)
	if isCode(err, outOfMemory) {
		address, err = d.allocAgain(size)
	}
	if err != nil {
		return nil, err
	}
	m.address = address
	d.garbage.mu.Lock()
	d.garbage.bytes += size
	d.garbage.count++
	d.garbage.mu.Unlock()
	runtime.AddCleanup(m, d.garbage.add, block{address, size})
	return m, nil
}

func (d *Device) alloc(size int) (uint64, error) {
	var at C.h5_address
	err := d.check("allocate "+amount(size), C.h5_alloc(d.context, &at, C.size_t(size), d.pool, d.stream.handle))
	return uint64(at), err
}

// allocAgain is alloc after everything was given back that could be.
func (d *Device) allocAgain(size int) (uint64, error) {
	d.scratch.Drop()
	collect()
	for _, step := range []func() error{d.sweep, d.stream.Sync, func() error { return d.check("trim", C.h5_trim(d.context, d.pool)) }} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	at, err := d.alloc(size)
	if err == nil {
		return at, nil
	}
	held, count := d.Held()
	var free, all C.size_t
	if err := d.check("ask for free memory", C.h5_available(d.context, &free, &all)); err != nil {
		return 0, err
	}
	others := max(0, int(all)-int(free)-held)
	return 0, fmt.Errorf("%w: of %s %d arrays hold %s, the driver and other programs %s, %s are free; use smaller batches, or release what is kept",
		err, amount(int(all)), count, amount(held), amount(others), amount(int(free)))
}

// collect runs the collector, and waits for the cleanups it finds to have begun.
func collect() {
	done := make(chan struct{})
	runtime.AddCleanup(new(memory), func(done chan struct{}) { close(done) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// Held returns how many bytes of the device's memory are in use here, by how many storages.
func (d *Device) Held() (bytes, count int) {
	d.garbage.mu.Lock()
	defer d.garbage.mu.Unlock()
	return d.garbage.bytes, d.garbage.count
}

func (g *garbage) add(b block) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found = append(g.found, b)
}

func (g *garbage) addPinned(at unsafe.Pointer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pinned = append(g.pinned, at)
}

// sweep frees garbage, once what was issued before is done.
func (d *Device) sweep() error {
	d.garbage.mu.Lock()
	defer d.garbage.mu.Unlock()
	for _, at := range d.garbage.pinned {
		if err := d.check("free pinned memory", C.h5_unpin(d.context, at)); err != nil {
			return err
		}
	}
	d.garbage.pinned = d.garbage.pinned[:0]
	for _, b := range d.garbage.found {
		if err := d.check("free", C.h5_free(d.context, C.h5_address(b.address), d.stream.handle)); err != nil {
			return err
		}
		d.garbage.bytes -= b.size
		d.garbage.count--
	}
	d.garbage.found = d.garbage.found[:0]
	return nil
}

// amount writes bytes for a reader.
func amount(bytes int) string {
	size, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.4g %s", size, units[0])
}

// Address returns where a storage of this device lies.
func (d *Device) Address(s storage.Storage) uint64 {
	d.keep(s)
	return s.(*memory).address
}

// Scratch lends memory to the work that use issues: when that work runs, no one
// else's does.
func (d *Device) Scratch(bytes int, use func(address uint64) error) error {
	s, err := d.scratch.Get(bytes)
	if err != nil {
		return err
	}
	defer d.scratch.Put(s)
	return use(d.Address(s))
}
