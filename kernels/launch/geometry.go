package launch

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
)

// A Geometry is how a GPU divides the work of kernels whose elements any thread may take:
// copies, casts, fills and elementwise operations. Kernels that work by tiles or rows
// choose their own. Results do not depend on it.
type Geometry struct {
	Threads int // of a block, up to 256; 0 leaves the choice to the kernel
	Blocks  int // at most; 0 leaves the choice to the kernel. Several per multiprocessor keep a GPU busy
}

// Check returns an error if no GPU takes such blocks.
func (s Geometry) Check() error {
	if s.Threads < 0 || s.Threads > Threads || s.Blocks < 0 {
		return fmt.Errorf("%d threads in each of %d blocks; GPUs take up to %d threads: %w", s.Threads, s.Blocks, Threads, storage.ErrState)
	}
	return nil
}

// Divide returns how many blocks of how many threads share n units of work.
func (s Geometry) Divide(n int64) (blocks, each int64) {
	each = min(Threads, (n+31)/32*32)
	if s.Threads > 0 {
		each = int64(s.Threads)
	}
	blocks = (n + each - 1) / each
	if blocks > 4*FullOccupancy { // a thread with several units loads some at once, and starts only once
		blocks = min(max(4*FullOccupancy, (blocks+7)/8), 1<<16)
	}
	if s.Blocks > 0 {
		blocks = min(blocks, int64(s.Blocks))
	}
	return blocks, each
}
