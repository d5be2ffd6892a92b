package hdf5

import (
	"fmt"
	"sync"
)

// A blockCache caches blocks of the file with metadata, because small structures are
// close together and often read more than once. It has two generations: a block that is
// used moves to the young one, and the old one is dropped when the young one is full.
type blockCache struct {
	mu         sync.Mutex // not held while blocks are read
	young, old map[int64]*metadataBlock
}

const (
	blockSize   = 64 << 10
	youngBlocks = 32 // 2 MiB
)

// A metadataBlock is read by the first goroutine that needs it; others wait.
type metadataBlock struct {
	once sync.Once
	data []byte
	err  error
}

// bytes returns n bytes at an offset of the file. Those of several blocks are cached, too, unless they
// are many.
func (c *blockCache) bytes(f *File, at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	first, end := at/blockSize, (at+int64(n)+blockSize-1)/blockSize
	if end-first > youngBlocks/2 {
		return b, f.pread(b, at)
	}
	for k := first; k < end; k++ {
		block, err := c.block(f, k)
		if err != nil {
			return nil, err
		}
		start := k * blockSize
		from := max(0, at-start)
		if part := b[start+from-at:]; copy(part, block[min(from, int64(len(block))):]) < min(len(part), blockSize-int(from)) {
			return nil, fmt.Errorf("file truncated while in use: %d bytes at %d", n, at)
		}
	}
	return b, nil
}

// block returns a block, which must not be modified.
func (c *blockCache) block(f *File, k int64) ([]byte, error) {
	b := c.entry(k)
	b.once.Do(func() {
		b.data = make([]byte, min(blockSize, max(0, f.size-int(k*blockSize))))
		b.err = f.pread(b.data, k*blockSize)
	})
	if b.err != nil {
		c.forget(k, b)
	}
	return b.data, b.err
}

// entry returns the entry of a block, which may have to be read.
func (c *blockCache) entry(k int64) *metadataBlock {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.young[k]
	if ok {
		return b
	}
	if b, ok = c.old[k]; !ok {
		b = &metadataBlock{}
	}
	delete(c.old, k)
	if c.young == nil || len(c.young) >= youngBlocks {
		c.young, c.old = map[int64]*metadataBlock{}, c.young
	}
	c.young[k] = b
	return b
}

// forget drops a block that could not be read, so that it is tried again.
func (c *blockCache) forget(k int64, b *metadataBlock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, generation := range []map[int64]*metadataBlock{c.young, c.old} {
		if generation[k] == b {
			delete(generation, k)
		}
	}
}
