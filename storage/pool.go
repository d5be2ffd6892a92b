package storage

import (
	"math/bits"
	"sync"
)

// A Pool reuses memory of one device, so that repeated work needs neither device
// allocations nor garbage collections. It is safe for use by several goroutines.
//
// Blocks of 64 KiB and more in host memory are parts of one arena of all pools. Blocks of
// devices, whose graphs keep their addresses, and small ones are kept by size.
type Pool struct {
	device Device
	mu     sync.Mutex
	free   [poolClasses][]Storage
}

// Sizes are rounded up to one of eight between powers of two, so that requests
// of nearly one size share memory and at most an eighth is wasted.
const (
	poolStep    = 3 // bits of a size, after the leading one, that are kept
	poolLeast   = 6 // the logarithm of the smallest size
	poolClasses = (bits.UintSize - poolLeast) << poolStep
)

// NewPool returns a pool of d's memory, empty at first.
func NewPool(d Device) *Pool { return &Pool{device: d} }

// Device returns the device of the pool's memory.
func (p *Pool) Device() Device { return p.device }

// Get returns at least size bytes, to be given back by Put; their content is undefined.
func (p *Pool) Get(size int) (Storage, error) {
	if p.device == CPU && size >= leastPart && fits(size) == nil {
		if lent, bytes, ok := hostMemory.take(size); ok {
			return &heap{bytes: bytes, lent: lent}, nil
		}
	}
	class, rounded := classOf(size)
	if s := p.take(class); s != nil {
		return s, nil
	}
	s, err := p.device.Alloc(rounded)
	if err != nil && p.Drop() { // memory kept for other sizes may suffice
		return p.device.Alloc(rounded)
	}
	return s, err
}

func (p *Pool) take(class int) Storage {
	p.mu.Lock()
	defer p.mu.Unlock()
	stack := p.free[class]
	last := len(stack) - 1
	if last < 0 {
		return nil
	}
	s := stack[last]
	stack[last] = nil
	p.free[class] = stack[:last]
	return s
}

// Put takes back what Get returned, and recycles it if it is [Recyclable]: arrays
// that still show it can then neither be read nor written. No slice of its bytes may
// be used any more. Put panics on a storage that was recycled before.
func (p *Pool) Put(s Storage) {
	if err := CheckAlive(s); err != nil {
		panic("storage: put to a pool: " + err.Error())
	}
	if h, ok := s.(*heap); ok && h.lent.len() > 0 {
		h.recycled.Store(true)
		hostMemory.give(h.lent)
		return
	}
	if r, ok := s.(Recyclable); ok {
		s = r.Recycle()
	} else if v, ok := s.(Versioned); ok {
		v.BumpVersion()
	}
	class, _ := classOf(s.Len())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[class] = append(p.free[class], s)
}

// Drop frees all memory that was put back, and reports whether there was any. Of host memory this
// includes what other pools put back.
func (p *Pool) Drop() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	any := p.device == CPU && hostMemory.trim()
	for class := range p.free {
		any = any || len(p.free[class]) > 0
		p.free[class] = nil
	}
	return any
}

// classOf returns the size class for size bytes, and the size of that class.
func classOf(size int) (class, rounded int) {
	if size <= 1<<poolLeast {
		return 0, 1 << poolLeast
	}
	shift := bits.Len(uint(size-1)) - 1 - poolStep // of the bits that are kept
	kept := (uint(size-1) >> shift) + 1            // 9 … 16 eighths of a power of two
	return (shift+poolStep-poolLeast)<<poolStep + int(kept) - 1<<poolStep, int(kept << shift)
}
