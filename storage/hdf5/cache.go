package hdf5

import (
	"container/list"
	"errors"
	"slices"
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

	large  largeChunk
	partly []partlyDecoded // used last last
}

// partlyDecoded counts the bytes that were decoded block by block of a chunk that was read lately.
type partlyDecoded struct {
	key   chunkKey
	bytes int // decoded so far
}

// decodesPartly reports whether to decode n bytes of a chunk once more rather than all of it: until the last reads of it
// together have decoded half of its size.
func (c *chunkCache) decodesPartly(key chunkKey, n, size int) bool {
	const remembered = 16
	c.mu.Lock()
	defer c.mu.Unlock()
	p := partlyDecoded{key, n}
	if k := slices.IndexFunc(c.partly, func(p partlyDecoded) bool { return p.key == key }); k >= 0 {
		p.bytes += c.partly[k].bytes
		c.partly = slices.Delete(c.partly, k, k+1)
	}
	if p.bytes > size/2 {
		return false
	}
	if len(c.partly) == remembered {
		c.partly = slices.Delete(c.partly, 0, 1)
	}
	c.partly = append(c.partly, p)
	return true
}

// A largeChunk is the last decoded chunk of those that are too large for a cache, as arrays are
// read block by block. Its memory is used again.
type largeChunk struct {
	mu   sync.Mutex
	key  chunkKey
	data []byte // nil before the first
}

// use calls use with a chunk, which must not be kept, after decoding it if it is not the last
// one. It returns false if another goroutine is using the memory.
func (l *largeChunk) use(key chunkKey, size int, decode func(dst []byte) error, use func(chunk []byte)) (ok bool, err error) {
	if !l.mu.TryLock() {
		return false, nil
	}
	defer l.mu.Unlock()
	if l.data == nil || l.key != key {
		memory := l.data[:cap(l.data)]
		l.data = nil // in case of an error
		if len(memory) < size {
			memory = make([]byte, size)
		}
		if err := decode(memory[:size]); err != nil {
			return true, err
		}
		l.key, l.data = key, memory[:size]
	}
	use(l.data)
	return true, nil
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

	decoded sync.Once
	data    []byte // before it is decoded: the memory of an evicted chunk of this size, or nil
	err     error
	users   int // goroutines that decode or read it
}

// holds reports whether the cache holds chunks of a size.
func (c *chunkCache) holds(size int) bool { return size <= c.limit/2 }

// errUndecoded is the error of a chunk that another goroutine has failed to decode.
var errUndecoded = errors.New("decoding failed in another goroutine")

// use calls use with the chunk, which must not be kept or modified, after decoding it if it is not cached. decode
// returns the chunk in the memory that it is given, or in new memory if that is nil.
func (c *chunkCache) use(key chunkKey, size int, decode func(memory []byte) ([]byte, error), use func(chunk []byte)) error {
	chunk := c.acquire(key, size)
	defer c.release(chunk)
	chunk.decoded.Do(func() {
		chunk.err = errUndecoded // for others, if decode panics
		chunk.data, chunk.err = decode(chunk.data)
	})
	if chunk.err != nil {
		c.evict(key)
		return chunk.err
	}
	use(chunk.data)
	return nil
}

// acquire returns the entry of a chunk, which has one more user. A new entry gets the memory of an evicted one.
func (c *chunkCache) acquire(key chunkKey, size int) *cachedChunk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.lru.MoveToFront(e)
		chunk := e.Value.(*cachedChunk)
		chunk.users++
		return chunk
	}
	if c.entries == nil {
		c.entries = map[chunkKey]*list.Element{}
	}
	chunk := &cachedChunk{key: key, size: size, users: 1}
	for c.bytes+size > c.limit {
		if old := c.remove(c.lru.Back()); old.users == 0 && len(old.data) == size {
			chunk.data = old.data
		}
	}
	c.entries[key] = c.lru.PushFront(chunk)
	c.bytes += size
	return chunk
}

func (c *chunkCache) release(chunk *cachedChunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	chunk.users--
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

// drop evicts the chunks of a file.
func (c *chunkCache) drop(f *File) {
	c.mu.Lock()
	for key, e := range c.entries {
		if key.file == f {
			c.remove(e)
		}
	}
	c.mu.Unlock()
	c.large.mu.Lock()
	c.large.data = nil
	c.large.mu.Unlock()
}

func (c *chunkCache) remove(e *list.Element) *cachedChunk {
	chunk := c.lru.Remove(e).(*cachedChunk)
	delete(c.entries, chunk.key)
	c.bytes -= chunk.size
	return chunk
}

// An addressCache caches what was read at addresses of a file. It drops all if more would exceed a limit.
type addressCache[V any] struct {
	mu    sync.Mutex
	known map[uint64]V
	total int // of what read returned as sizes
}

// get returns the value at an address. It calls read, which returns the size of the value too, if it is
// not cached; another goroutine may do the same.
func (c *addressCache[V]) get(address uint64, limit int, read func() (V, int, error)) (V, error) {
	c.mu.Lock()
	v, ok := c.known[address]
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	v, size, err := read()
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || c.total+size > limit {
		c.known, c.total = map[uint64]V{}, 0
	}
	if _, ok := c.known[address]; !ok {
		c.known[address] = v
		c.total += size
	}
	return v, nil
}
