package ptx

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Launch is a launch configuration and its parameters.
type Launch struct {
	Blocks, Threads [3]uint32 // of the grid, and of each block
	Shared          int       // bytes of dynamic shared memory
	Params          []byte    // laid out as Kernel.Params says
	CheckRaces      bool      // whether races in shared memory are detected
	Counters        *Counters // incremented, unless nil
}

// Limits of every GPU since sm_75.
const (
	mostThreads = 1024
	mostBlocksX = 1<<31 - 1
	mostBlocks  = 1<<16 - 1 // along y and z
)

// Run runs the kernel on memory, blocks spread over the processors. The error is
// of the first block that failed.
func (k *Kernel) Run(m *Memory, l Launch) error {
	if err := k.Check(l); err != nil {
		return err
	}
	total := uint64(l.Blocks[0]) * uint64(l.Blocks[1]) * uint64(l.Blocks[2])
	workers := int(min(total, uint64(runtime.GOMAXPROCS(0))))
	var next atomic.Uint64
	var all sync.WaitGroup
	blocks := make([]*block, workers)
	for i := range blocks {
		b := k.block(m, l)
		blocks[i] = b
		all.Go(func() {
			for n := next.Add(1) - 1; n < total && b.err == nil; n = next.Add(1) - 1 {
				b.start(n)
				b.execute()
			}
		})
	}
	all.Wait()
	for _, b := range blocks {
		if b.err != nil {
			return b.err
		}
		if l.Counters != nil {
			l.Counters.Add(b.counters)
		}
		b.memory, b.params = nil, nil
		clear(b.recent)
		k.idle.Put(b)
	}
	return nil
}

// Check returns an error for a launch that a driver would refuse.
func (k *Kernel) Check(l Launch) error {
	if err := k.check(l); err != nil {
		return fmt.Errorf("ptx: %s: %w", k.Name, err)
	}
	return nil
}

func (k *Kernel) check(l Launch) error {
	threads := uint64(l.Threads[0]) * uint64(l.Threads[1]) * uint64(l.Threads[2])
	limit := uint64(mostThreads)
	if k.Threads > 0 {
		limit = min(limit, uint64(k.Threads))
	}
	switch {
	case threads == 0 || threads > limit || max(l.Threads[0], l.Threads[1], l.Threads[2]) > mostThreads:
		return fmt.Errorf("blocks of %v threads; want 1 to %d", l.Threads, limit)
	case min(l.Blocks[0], l.Blocks[1], l.Blocks[2]) == 0 || l.Blocks[0] > mostBlocksX || max(l.Blocks[1], l.Blocks[2]) > mostBlocks:
		return fmt.Errorf("a grid of %v blocks; want 1 to %d, %d and %d", l.Blocks, mostBlocksX, mostBlocks, mostBlocks)
	case l.Shared < 0 || k.Shared+l.Shared > MostShared:
		return fmt.Errorf("%d bytes of shared memory; there are %d", k.Shared+l.Shared, MostShared)
	case len(l.Params) != k.params:
		return fmt.Errorf("%d bytes of parameters; want %d", len(l.Params), k.params)
	}
	return nil
}
