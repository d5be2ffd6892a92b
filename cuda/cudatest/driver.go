package cudatest

import (
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// A driver is all state of the fake.
type driver struct {
	mu               sync.Mutex
	progress         sync.Cond // some task is done
	schedule         Schedule
	gpus             [2]*gpu
	noPeerAccess     bool            // whether the gpus cannot reach each other's memory
	handles          map[uintptr]any // *stream, *event, *graph, *executable, *ptx.Module, *ptx.Kernel, *pool
	last             uintptr
	pinned           map[uintptr]int     // sizes, by address
	maxDynamicShared map[*ptx.Kernel]int // bytes that launches may ask for
	counters         *ptx.Counters

	statsMu      sync.Mutex
	launchCounts map[string]int // how often each entry ran
	lastLaunch   ptx.Launch     // of the kernel that ran last
}

// A gpu is one device.
type gpu struct {
	index    int
	memory   *ptx.Memory
	blocks   map[uint64]allocation // by address
	used     int
	reserved int // by the pool, which keeps what is freed until it is trimmed
	capacity int
	streams  []*stream
	failure  error // of a task; all calls fail from then on
}

// A pool is where a gpu's memory is taken from, which another may reach.
type pool struct{ gpu, peer *gpu }

type allocation struct {
	size int
	pool *pool
}

var fake = newDriver()

// modest is how much memory each gpu has, which the host must have as well.
const defaultCapacity = 1 << 30

func newDriver() *driver {
	d := &driver{handles: map[uintptr]any{}, pinned: map[uintptr]int{}, maxDynamicShared: map[*ptx.Kernel]int{}, launchCounts: map[string]int{}, last: 0x1000}
	d.progress.L = &d.mu
	for i := range d.gpus {
		d.gpus[i] = &gpu{index: i, memory: ptx.NewMemory(i), blocks: map[uint64]allocation{}, capacity: defaultCapacity}
	}
	return d
}

// shares reports whether peer may touch what lies at an address of g.
func (g *gpu) peerAccessible(address uint64, peer *gpu) bool {
	for base, block := range g.blocks {
		if address >= base && address-base < uint64(block.size) {
			return block.pool.peer == peer
		}
	}
	return false
}

// note keeps the first failure.
func (g *gpu) fail(err error) {
	if g.failure == nil {
		g.failure = err
	}
}

// add returns a handle of something.
func (d *driver) add(thing any) uintptr {
	d.last += 0x10
	d.handles[d.last] = thing
	return d.last
}

// lookup returns what a handle stands for, if it is a T.
func lookup[T any](d *driver, handle uintptr) (T, code) {
	thing, ok := d.handles[handle].(T)
	if !ok {
		return thing, invalidHandle
	}
	return thing, success
}

// ran counts a run of an entry.
func (d *driver) countLaunch(entry string) {
	d.statsMu.Lock()
	defer d.statsMu.Unlock()
	d.launchCounts[entry]++
}

// shaped notes how a kernel was launched.
func (d *driver) setLastLaunch(l ptx.Launch) {
	d.statsMu.Lock()
	defer d.statsMu.Unlock()
	d.lastLaunch = l
}

func (d *driver) count(c *ptx.Counters) *ptx.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waitAll()
	old := d.counters
	d.counters = c
	return old
}

// gpu returns the one of that name.
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
