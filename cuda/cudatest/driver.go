package cudatest

import (
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/cuda/ptx"
)

// A driver is all state of the fake.
type driver struct {
	mu       sync.Mutex
	progress sync.Cond // some task is done
	schedule Schedule
	gpus     [2]*gpu
	apart    bool            // whether the gpus cannot reach each other's memory
	handles  map[uintptr]any // *stream, *event, *graph, *executable, *ptx.Module, *ptx.Kernel, *pool
	last     uintptr
	pinned   map[uintptr]int     // sizes, by address
	shared   map[*ptx.Kernel]int // bytes that launches may ask for
	counters *ptx.Counters

	tally    sync.Mutex
	launched map[string]int // how often each entry ran
	shape    ptx.Launch     // of the kernel that ran last
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
const modest = 1 << 30

func newDriver() *driver {
	d := &driver{handles: map[uintptr]any{}, pinned: map[uintptr]int{}, shared: map[*ptx.Kernel]int{}, launched: map[string]int{}, last: 0x1000}
	d.progress.L = &d.mu
	for i := range d.gpus {
		d.gpus[i] = &gpu{index: i, memory: ptx.NewMemory(i), blocks: map[uint64]allocation{}, capacity: modest}
	}
	return d
}

// shares reports whether peer may touch what lies at an address of g.
func (g *gpu) shares(address uint64, peer *gpu) bool {
	for base, block := range g.blocks {
		if address >= base && address-base < uint64(block.size) {
			return block.pool.peer == peer
		}
	}
	return false
}

// note keeps the first failure.
func (g *gpu) note(err error) {
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
func (d *driver) ran(entry string) {
	d.tally.Lock()
	defer d.tally.Unlock()
	d.launched[entry]++
}

// shaped notes how a kernel was launched.
func (d *driver) shaped(l ptx.Launch) {
	d.tally.Lock()
	defer d.tally.Unlock()
	d.shape = l
}

func (d *driver) count(c *ptx.Counters) *ptx.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle()
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

func (d *driver) separate(apart bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apart = apart
}

func (d *driver) recover() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle()
	for _, g := range d.gpus {
		g.failure = nil
		for _, s := range g.streams {
			s.recording, s.front = nil, nil
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
