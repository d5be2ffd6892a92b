package remote

import (
	"container/list"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// A blockCache is an LRU cache of the blocks of a file in which small reads were. Blocks that follow cached
// ones are fetched in growing runs: the more is read in order, the fewer requests it takes.
type blockCache struct {
	limit int64 // bytes

	mu    sync.Mutex
	known map[int64]*block // by number
	lru   list.List        // of int64, used last first; only of blocks that were fetched
}

const (
	blockSize   = 16 << 10
	firstBlocks = firstRequest / blockSize // of a run
	mostBlocks  = (1 << 20) / blockSize    // of a run
)

// A block is fetched by one goroutine; others wait for it.
type block struct {
	done chan struct{}
	data []byte
	err  error
	run  int64 // number of blocks that were fetched together
	at   *list.Element
}

// put adds the first bytes of the file, which were fetched when it was opened.
func (c *blockCache) put(first int64, data []byte) {
	fetched := make(chan struct{})
	close(fetched)
	run := int64(len(data)+blockSize-1) / blockSize
	for data := range slices.Chunk(data, blockSize) {
		c.known[first] = &block{done: fetched, data: data, run: run, at: c.lru.PushFront(first)}
		first++
	}
}

// A run is a range of neighbouring blocks that are not cached. The caller of claim fetches them.
type run struct {
	first  int64
	blocks []*block
}

// claim returns the blocks from first to end-1, and the ones that are neither cached nor being fetched,
// in runs. With grow, runs extend beyond end.
func (c *blockCache) claim(first, end, limit int64, grow bool) (all []*block, missing []run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := end
	for k := first; k < target; k++ {
		b, ok := c.known[k]
		if !ok {
			if grow {
				target = min(limit, max(target, k+c.growth(k)))
				grow = false
			}
			b = &block{done: make(chan struct{})}
			c.known[k] = b
			if last := len(missing) - 1; last >= 0 && missing[last].first+int64(len(missing[last].blocks)) == k {
				missing[last].blocks = append(missing[last].blocks, b)
			} else {
				missing = append(missing, run{k, []*block{b}})
			}
		} else if k >= end {
			break
		} else if b.at != nil {
			c.lru.MoveToFront(b.at)
		}
		if k < end {
			all = append(all, b)
		}
	}
	for _, r := range missing {
		for _, b := range r.blocks {
			b.run = int64(len(r.blocks))
		}
	}
	return all, missing
}

// growth returns the number of blocks to fetch from block k on, which is not cached.
func (c *blockCache) growth(k int64) int64 {
	if before, ok := c.known[k-1]; ok {
		return min(2*before.run, mostBlocks)
	}
	return firstBlocks
}

// store notes that the blocks of a run were fetched, or why they were not, and drops the ones that were used
// least recently.
func (c *blockCache) store(r run, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range r.blocks {
		k := r.first + int64(i)
		if b.err = err; err != nil {
			delete(c.known, k)
		} else {
			b.at = c.lru.PushFront(k)
		}
		close(b.done)
	}
	for int64(c.lru.Len())*blockSize > max(c.limit, mostBlocks*blockSize) {
		delete(c.known, c.lru.Remove(c.lru.Back()).(int64))
	}
}

// numBlocks returns the number of blocks of the file.
func (f *File) numBlocks() int64 { return (f.size + blockSize - 1) / blockSize }

// readBlocks reads through the cache of blocks.
func (f *File) readBlocks(p []byte, off int64) error {
	first, end := off/blockSize, (off+int64(len(p))-1)/blockSize+1
	all, missing := f.blocks.claim(first, end, f.numBlocks(), true)
	for _, r := range missing {
		f.fetchRun(r)
	}
	return copyBlocks(p, off, all)
}

// copyBlocks copies bytes from an offset on, which the first block has, once they were fetched.
func copyBlocks(p []byte, off int64, all []*block) error {
	start := off / blockSize * blockSize
	for _, b := range all {
		if <-b.done; b.err != nil {
			return b.err
		}
		from := max(0, off-start)
		copy(p[start+from-off:], b.data[from:])
		start += blockSize
	}
	return nil
}

// cached returns the blocks from first to end-1 if all of them were fetched, or else nil.
func (c *blockCache) cached(first, end int64) (all []*block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := first; k < end; k++ {
		b, ok := c.known[k]
		if !ok || b.at == nil {
			return nil
		}
		all = append(all, b)
	}
	return all
}

// fetchRun fetches the blocks of a run with one request.
func (f *File) fetchRun(r run) {
	parts := make([][]byte, len(r.blocks))
	for i, b := range r.blocks {
		b.data = make([]byte, min(blockSize, f.size-(r.first+int64(i))*blockSize))
		parts[i] = b.data
	}
	f.blocks.store(r, f.fetch(parts, r.first*blockSize))
}

// Cache implements [storage.Remote].
func (f *File) Cache(ranges []storage.Range) error {
	var missing []run
	var all []*block
	for _, near := range merge(ranges, f.size, blockSize, mergedBytes) {
		blocks, runs := f.blocks.claim(near.At/blockSize, (near.At+near.Len-1)/blockSize+1, f.numBlocks(), false)
		all, missing = append(all, blocks...), append(missing, runs...)
		if int64(len(all))*blockSize >= f.blocks.limit {
			break // more would not stay until it is read
		}
	}
	for _, r := range missing {
		f.fetchAhead(len(r.blocks)*blockSize, func() { f.fetchRun(r) })
	}
	for _, b := range all {
		if <-b.done; b.err != nil {
			return b.err
		}
	}
	return nil
}
