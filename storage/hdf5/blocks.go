package hdf5

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A blockCache caches blocks of the file with metadata, because small structures are
// close together and often read more than once. It has two generations: a block that is
// used moves to the young one, and the old one is dropped when the young one is full.
type blockCache struct {
	sync.Mutex
	young, old map[int64][]byte
	free       [][]byte // buffers of blocks that were dropped, for others
}

const (
	blockSize   = 64 << 10
	youngBlocks = 32 // 2 MiB
)

func (c *blockCache) bytes(f *File, at int64, n int) ([]byte, error) {
	first, last := at/blockSize, (at+int64(n)-1)/blockSize
	if n == 0 {
		return nil, nil
	}
	if first != last {
		b := make([]byte, n)
		return b, f.pread(b, at)
	}
	c.Lock()
	defer c.Unlock()
	block, err := c.block(f, first)
	if err != nil {
		return nil, err
	}
	from := int(at - first*blockSize)
	if from+n > len(block) {
		return nil, fmt.Errorf("file truncated while in use: %d bytes at %d", n, at)
	}
	return slices.Clone(block[from : from+n]), nil // the block is read into again
}

// block returns a block, which is valid until the next call.
func (c *blockCache) block(f *File, k int64) ([]byte, error) {
	b, ok := c.young[k]
	if ok {
		return b, nil
	}
	if b, ok = c.old[k]; !ok {
		n := min(blockSize, f.size-int(k*blockSize))
		if last := len(c.free) - 1; last >= 0 && cap(c.free[last]) >= n {
			b, c.free = c.free[last][:n], c.free[:last]
		} else {
			b = make([]byte, n)
		}
		if err := f.pread(b, k*blockSize); err != nil {
			return nil, err
		}
	}
	delete(c.old, k)
	if c.young == nil || len(c.young) >= youngBlocks {
		c.free = slices.AppendSeq(c.free[:0], maps.Values(c.old))
		c.young, c.old = map[int64][]byte{}, c.young
	}
	c.young[k] = b
	return b, nil
}
