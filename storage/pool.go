package storage

import (
	"math/bits"
	"sync"
)

// A Pool hands out memory of one device and takes it back, for work that repeats
// itself and should trouble neither the device nor the garbage collector. It may
// be used by several goroutines.
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

// Get returns at least size bytes; what they hold is undefined.
func (p *Pool) Get(size int) (Storage, error) {
	class, room := classOf(size)
	if s := p.take(class); s != nil {
		return s, nil
	}
	s, err := p.device.Alloc(room)
	if err != nil && p.Drop() { // memory kept for other sizes may have been in the way
		return p.device.Alloc(room)
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

// Drop lets go of all memory that was put back, and reports whether there was any.
func (p *Pool) Drop() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	any := false
	for class := range p.free {
		any = any || len(p.free[class]) > 0
		p.free[class] = nil
	}
	return any
}

// classOf returns which of the pool's sizes holds size bytes, and that size.
func classOf(size int) (class, room int) {
	if size <= 1<<poolLeast {
		return 0, 1 << poolLeast
	}
	shift := bits.Len(uint(size-1)) - 1 - poolStep // of the bits that are kept
	kept := (uint(size-1) >> shift) + 1            // 9 … 16 eighths of a power of two
	return (shift+poolStep-poolLeast)<<poolStep + int(kept) - 1<<poolStep, int(kept << shift)
}
