package cuda

// #include "calls.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

var _ storage.Addressed = (*memory)(nil)

// memory is a Storage on a device. The garbage collector frees it.
type memory struct {
	address uint64
	size    int
	device  *Device
	version atomic.Uint64

	recycled atomic.Bool
	owner    *memory // whose memory this is, and whose cleanup frees it; nil if its own
}

var _ storage.Recyclable = (*memory)(nil)

// Recycle returns a new storage for m's memory.
func (m *memory) Recycle() storage.Storage {
	m.recycled.Store(true)
	r := &memory{address: m.address, size: m.size, device: m.device, owner: m.owner}
	if r.owner == nil {
		r.owner = m
	}
	return r
}

func (m *memory) Recycled() bool { return m.recycled.Load() }

func (m *memory) Len() int               { return m.size }
func (m *memory) Device() storage.Device { return m.device }
func (m *memory) Address() uint64        { return m.address }
func (m *memory) Version() uint64        { return m.version.Load() }
func (m *memory) BumpVersion()           { m.version.Add(1) }

// garbage is unreachable memory, freed by the next Alloc or Pin: cleanups only queue it,
// so that the garbage collector's goroutine makes no driver calls.
type garbage struct {
	mu     sync.Mutex
	blocks []block
	pinned []unsafe.Pointer
	bytes  int // of allocated device memory, garbage included
	count  int
}

type block struct {
	address uint64
	size    int
}

// Alloc allocates size bytes of uninitialized device memory.
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
	if err := d.refuseDuringCapture(fmt.Sprintf("allocate %d bytes", size)); err != nil {
		return nil, err
	}
	if d.pool != 0 || d.garbage.size() >= plainGarbage {
		if err := d.freeGarbage(); err != nil {
			return nil, err
		}
	}
	address, err := d.alloc(size)
	if isCode(err, outOfMemory) {
		address, err = d.allocAfterRelease(size)
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
	var code C.h5_result
	if d.pool != 0 {
		code = C.h5_alloc(d.context, &at, C.size_t(size), d.pool, d.stream.handle)
	} else {
		code = C.h5_alloc_plain(d.context, &at, C.size_t(size))
	}
	return uint64(at), d.check("allocate "+amount(size), code)
}

// plainGarbage is how much garbage there may be before it is freed if there is no memory
// pool, because the GPU must be idle then.
const plainGarbage = 64 << 20

// size returns the bytes of garbage.
func (g *garbage) size() (bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.blocks {
		bytes += b.size
	}
	return bytes
}

// free frees memory, in stream order. Without a pool, the work that used it must be done.
func (d *Device) free(b block) error {
	if d.pool == 0 {
		return d.check("free", C.h5_free_plain(d.context, C.h5_address(b.address)))
	}
	return d.check("free", C.h5_free(d.context, C.h5_address(b.address), d.stream.handle))
}

// allocAfterRelease is alloc after all cached and unreachable memory was released.
func (d *Device) allocAfterRelease(size int) (uint64, error) {
	d.scratch.Drop()
	collect()
	free, all, err := d.trimPool()
	if err != nil {
		return 0, err
	}
	at, err := d.alloc(size)
	if err == nil {
		return at, nil
	}
	held, count := d.Allocated()
	others := max(0, all-free-held)
	return 0, fmt.Errorf("%w: of %s, %d arrays use %s, the driver and other programs %s, and %s are free; use smaller batches or release arrays",
		err, amount(all), count, amount(held), amount(others), amount(free))
}

// trimPool returns unused memory of the pool to the system, and then the free and the
// total bytes of device memory.
func (d *Device) trimPool() (bytes, all int, err error) {
	if err := d.freeGarbage(); err != nil {
		return 0, 0, err
	}
	if err := d.stream.Sync(); err != nil { // only completed frees can be trimmed
		return 0, 0, err
	}
	if d.pool != 0 {
		if err := d.check("trim the memory pool", C.h5_pool_trim(d.context, d.pool)); err != nil {
			return 0, 0, err
		}
	}
	var free, total C.size_t
	err = d.check("query free memory", C.h5_mem_info(d.context, &free, &total))
	return int(free), int(total), err
}

// collect runs the garbage collector and waits, for at most a second, for its cleanups.
func collect() {
	runtime.GC()
	counts := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(counts)
	found := counts[0].Value.Uint64()
	for end := time.Now().Add(time.Second); counts[1].Value.Uint64() < found && time.Now().Before(end); metrics.Read(counts) {
		time.Sleep(100 * time.Microsecond)
	}
}

// Allocated returns the bytes of device memory allocated by this process, and the number
// of storages.
func (d *Device) Allocated() (bytes, count int) {
	d.garbage.mu.Lock()
	defer d.garbage.mu.Unlock()
	return d.garbage.bytes, d.garbage.count
}

func (g *garbage) add(b block) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blocks = append(g.blocks, b)
}

func (g *garbage) addPinned(at unsafe.Pointer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pinned = append(g.pinned, at)
}

// freeGarbage frees garbage, in stream order. A free that fails is not repeated.
func (d *Device) freeGarbage() error {
	g := &d.garbage
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, at := range slices.Backward(g.pinned) {
		g.pinned = g.pinned[:i]
		if err := d.check("free pinned memory", C.h5_host_free(d.context, at)); err != nil {
			return err
		}
	}
	if d.pool == 0 && len(g.blocks) > 0 {
		if err := d.stream.Sync(); err != nil {
			return err
		}
	}
	for i, b := range slices.Backward(g.blocks) {
		g.blocks = g.blocks[:i]
		g.bytes -= b.size
		g.count--
		if err := d.free(b); err != nil {
			return err
		}
	}
	return nil
}

// amount formats a number of bytes.
func amount(bytes int) string {
	size, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.4g %s", size, units[0])
}

// Address returns the address of a storage of this device.
func (d *Device) Address(s storage.Storage) uint64 {
	d.retain(s)
	return s.(*memory).address
}

// Workspace calls use with workspace memory for the work that it issues. Later work that
// uses the same memory runs after it.
func (d *Device) Workspace(bytes int, use func(address uint64) error) error {
	s, err := d.scratch.Get(bytes)
	if err != nil {
		return err
	}
	defer d.scratch.Put(s)
	return use(d.Address(s))
}
