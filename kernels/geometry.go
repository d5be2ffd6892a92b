package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
)

// A Geometry is how a GPU divides a call whose elements any thread may take: copies,
// casts, fills, and all that goes element by element. Kernels that work in tiles or
// by rows keep their own. Results do not depend on it.
type Geometry struct {
	Threads int // of a block, up to 256; 0 leaves it to the kernel
	Blocks  int // at most; 0 leaves it to the kernel. Several for each multiprocessor keep a GPU busy
}

// check returns an error for what no GPU can do.
func (s Geometry) check() error {
	if s.Threads < 0 || s.Threads > threads || s.Blocks < 0 {
		return fmt.Errorf("%d threads in each of %d blocks; GPUs take up to %d threads: %w", s.Threads, s.Blocks, threads, storage.ErrState)
	}
	return nil
}

// of returns how many threads, in how many blocks, share n pieces of work.
func (s Geometry) of(n int64) (blocks, each int64) {
	each = min(threads, (n+31)/32*32)
	if s.Threads > 0 {
		each = int64(s.Threads)
	}
	blocks = (n + each - 1) / each
	if blocks > 4*busy { // a thread that has several pieces loads some at once, and begins only once
		blocks = min(max(4*busy, (blocks+7)/8), 1<<16)
	}
	if s.Blocks > 0 {
		blocks = min(blocks, int64(s.Blocks))
	}
	return blocks, each
}

// A shaped GPU launches by a geometry.
type shaped struct {
	GPU
	Geometry
}

// Home returns the device that it is.
func (s shaped) Home() storage.Device { return home(s.GPU) }

// home returns the device whose storages a GPU computes on: the GPU itself,
// unless that is only a way to launch on one.
func home(g GPU) storage.Device {
	if way, ok := g.(interface{ Home() storage.Device }); ok {
		return way.Home()
	}
	return g
}
