package cudatest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// A driver is the state of the fake driver.
type driver struct {
	mu               sync.Mutex
	progress         sync.Cond // signalled when a task completes
	schedule         Schedule
	gpus             [2]*gpu
	noPeerAccess     bool            // whether the gpus lack access to each other's memory
	handles          map[uintptr]any // *stream, *event, *graph, *executable, *ptx.Module, *ptx.Kernel, *pool
	last             uintptr
	pinned           map[uintptr]int     // sizes, by address
	maxDynamicShared map[*ptx.Kernel]int // bytes that launches may ask for

	statsMu      sync.Mutex
	counters     map[string]*KernelCounters // nil unless launches are counted
	launchCounts map[string]int             // how often each entry ran
	skipKernels  atomic.Bool                // whether launches are checked and counted only
	lastLaunch   ptx.Launch                 // of the kernel that ran last
}

// A gpu is one device.
type gpu struct {
	index    int
	memory   *ptx.Memory
	blocks   map[uint64]allocation // by address
	used     int
	reserved int // by the pool, which keeps freed memory until it is trimmed
	capacity int
	streams  []*stream
	failure  error // of a task; all later calls fail
}

// A pool is a memory pool of a gpu; peer may have access to it.
type pool struct{ gpu, peer *gpu }

type allocation struct {
	size int
	pool *pool
}

var fake = newDriver()

// defaultCapacity is the memory of each gpu, taken from the host.
const defaultCapacity = 1 << 30

func newDriver() *driver {
	d := &driver{handles: map[uintptr]any{}, pinned: map[uintptr]int{}, maxDynamicShared: map[*ptx.Kernel]int{}, launchCounts: map[string]int{}, last: 0x1000}
	d.progress.L = &d.mu
	for i := range d.gpus {
		d.gpus[i] = &gpu{index: i, memory: ptx.NewMemory(i), blocks: map[uint64]allocation{}, capacity: defaultCapacity}
	}
	return d
}

// peerAccessible reports whether peer has access to an address of g.
func (g *gpu) peerAccessible(address uint64, peer *gpu) bool {
	for base, block := range g.blocks {
		if address >= base && address-base < uint64(block.size) {
			return block.pool.peer == peer
		}
	}
	return false
}

// fail keeps the first failure.
func (g *gpu) fail(err error) {
	if g.failure == nil {
		g.failure = err
	}
}

// add returns a new handle of thing.
func (d *driver) add(thing any) uintptr {
	d.last += 0x10
	d.handles[d.last] = thing
	return d.last
}

// lookup returns the object of a handle, if it is a T.
func lookup[T any](d *driver, handle uintptr) (T, code) {
	thing, ok := d.handles[handle].(T)
	if !ok {
		return thing, invalidHandle
	}
	return thing, success
}

// countLaunch counts a launch of an entry.
func (d *driver) countLaunch(entry string) {
	d.statsMu.Lock()
	defer d.statsMu.Unlock()
	d.launchCounts[entry]++
}

// setLastLaunch keeps the configuration of a launch.
func (d *driver) setLastLaunch(l ptx.Launch) {
	d.statsMu.Lock()
	defer d.statsMu.Unlock()
	d.lastLaunch = l
}

// count sets where launches are counted, and returns where they were.
func (d *driver) count(by map[string]*KernelCounters) map[string]*KernelCounters {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waitAll()
	d.statsMu.Lock()
	defer d.statsMu.Unlock()
	old := d.counters
	d.counters = by
	return old
}

// gpu returns the gpu of the given name.
func (d *driver) gpu(name string) *gpu {
	for _, g := range d.gpus {
		if fmt.Sprintf("cuda:%d", g.index) == name {
			return g
		}
	}
	panic("cudatest: no " + name)
}

func (d *driver) limit(name string, bytes int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.gpu(name)
	old := g.capacity
	g.capacity = bytes
	return old
}

func (d *driver) setPeerAccess(apart bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noPeerAccess = apart
}

func (d *driver) recover() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waitAll()
	for _, g := range d.gpus {
		g.failure = nil
		for _, s := range g.streams {
			s.capture, s.dependencies = nil, nil
		}
	}
}

// isPinned reports whether n bytes at a host address are pinned.
func (d *driver) isPinned(at uintptr, n int) bool {
	for base, size := range d.pinned {
		if at >= base && at+uintptr(n) <= base+uintptr(size) {
			return true
		}
	}
	return false
}
