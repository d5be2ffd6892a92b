package main

import (
	"sync"
	"syscall"

	"github.com/h5dnn/h5dnn/storage"
)

// A pool lends blocks of memory outside of Go's heap, which C can keep, and takes them back.
type pool struct {
	mu     sync.Mutex
	free   map[int][][]byte // by size
	spare  int              // blocks of a size that are kept
	owned  map[*block]bool  // that the loader fills, and nobody gives back
	closed bool
}

// A block is memory of a pool: a storage.Host.
type block struct {
	bytes []byte
	pool  *pool
}

func (b *block) Len() int               { return len(b.bytes) }
func (b *block) Device() storage.Device { return storage.CPU }
func (b *block) Bytes() []byte          { return b.bytes }

// alloc returns a block, whose content is undefined.
func (p *pool) alloc(size int) (storage.Host, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if free := p.free[size]; len(free) > 0 {
		p.free[size] = free[:len(free)-1]
		return &block{free[len(free)-1], p}, nil
	}
	if size == 0 {
		return &block{pool: p}, nil
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	return &block{b, p}, err
}

// allocOwned returns a block that close frees, unless disown has made it its user's.
func (p *pool) allocOwned(size int) (storage.Host, error) {
	b, err := p.alloc(size)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.owned[b.(*block)] = true
	}
	return b, err
}

// disown leaves it to the user of a block to give it back.
func (b *block) disown() {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	delete(b.pool.owned, b)
}

// release gives a block back. Its bytes must not be used any more.
func (b *block) release() error {
	p, bytes := b.pool, b.bytes
	b.bytes = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.free[len(bytes)]) >= p.spare {
		return unmap(bytes)
	}
	p.free[len(bytes)] = append(p.free[len(bytes)], bytes)
	return nil
}

// close frees all memory that is not lent, and what is lent when it is given back. Nothing may fill owned blocks any more.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, free := range p.free {
		for _, bytes := range free {
			unmap(bytes)
		}
	}
	for b := range p.owned {
		unmap(b.bytes)
		b.bytes = nil
	}
	p.free, p.owned = nil, nil
}

func unmap(bytes []byte) error {
	if len(bytes) == 0 {
		return nil
	}
	return syscall.Munmap(bytes)
}
