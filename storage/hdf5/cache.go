package hdf5

import (
	"container/list"
	"sync"
)

// A chunkCache is an LRU cache of decoded chunks, of limited size in bytes. A file shares
// it with the files that it refers to.
type chunkCache struct {
	limit int

	mu      sync.Mutex
	entries map[chunkKey]*list.Element
	lru     list.List // of *cachedChunk, used last first
	bytes   int
}

type chunkKey struct {
	file    *File
	dataset uint64 // address of its header
	number  int
}

// A cachedChunk is decoded by the first goroutine that needs it; others wait.
type cachedChunk struct {
	key  chunkKey
	size int
	get  func() ([]byte, error)
}

// get returns the chunk, and decodes it if it is not cached. The result must not be
// modified.
func (c *chunkCache) get(key chunkKey, size int, decode func() ([]byte, error)) ([]byte, error) {
	if size > c.limit/2 {
		return decode()
	}
	data, err := c.entry(key, size, decode).get()
	if err != nil {
		c.evict(key)
	}
	return data, err
}

func (c *chunkCache) entry(key chunkKey, size int, decode func() ([]byte, error)) *cachedChunk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.lru.MoveToFront(e)
		return e.Value.(*cachedChunk)
	}
	if c.entries == nil {
		c.entries = map[chunkKey]*list.Element{}
	}
	for c.bytes+size > c.limit {
		c.remove(c.lru.Back())
	}
	chunk := &cachedChunk{key, size, sync.OnceValues(decode)}
	c.entries[key] = c.lru.PushFront(chunk)
	c.bytes += size
	return chunk
}

// contains reports whether the chunk is cached.
func (c *chunkCache) contains(key chunkKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.entries[key]
	return ok
}

func (c *chunkCache) evict(key chunkKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.remove(e)
	}
}

func (c *chunkCache) remove(e *list.Element) {
	chunk := c.lru.Remove(e).(*cachedChunk)
	delete(c.entries, chunk.key)
	c.bytes -= chunk.size
}
