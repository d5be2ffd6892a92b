package storage

import (
	"fmt"
	"math/bits"
	"sync"
)

// A Pool hands out host memory and takes it back, for work that repeats itself
// and should not trouble the garbage collector. The zero Pool is ready for use,
// by several goroutines.
type Pool struct {
	mu   sync.Mutex
	free [poolClasses][]*heap
}

// Sizes are rounded up to one of eight between powers of two, so that requests
// of nearly one size share memory and at most an eighth is wasted.
const (
	poolStep    = 3 // bits of a size, after the leading one, that are kept
	poolLeast   = 6 // the logarithm of the smallest size
	poolClasses = (bits.UintSize - poolLeast) << poolStep
)

// Get returns size bytes on [CPU], 64-byte aligned; what they hold is undefined.
func (p *Pool) Get(size int) Storage {
	class, room := classOf(size)
	h := p.take(class)
	if h == nil {
		h = newHeap(room)
	}
	h.bytes = h.bytes[:size]
	return h
}

func (p *Pool) take(class int) *heap {
	p.mu.Lock()
	defer p.mu.Unlock()
	stack := p.free[class]
	last := len(stack) - 1
	if last < 0 {
		return nil
	}
	h := stack[last]
	stack[last] = nil
	p.free[class] = stack[:last]
	return h
}

// Put takes back what Get returned. Nothing may use it any more: no array that
// shows it, and no slice of its bytes. To put twice is a bug that Put cannot see.
func (p *Pool) Put(s Storage) {
	h, ok := s.(*heap)
	if !ok {
		panic(fmt.Sprintf("storage: Put of a %T, which comes from no pool", s))
	}
	class, room := classOf(cap(h.bytes))
	if room != cap(h.bytes) {
		panic(fmt.Sprintf("storage: Put of %d bytes, which come from no pool", cap(h.bytes)))
	}
	h.Touch()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[class] = append(p.free[class], h)
}

// Drop lets go of all memory that was put back.
func (p *Pool) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.free[:])
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
