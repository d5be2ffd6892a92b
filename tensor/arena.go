package tensor

import (
	"math/bits"

	"github.com/h5dnn/h5dnn/storage"
)

// An arena is a step's memory on one device: blocks handed out during a step
// and all free again after it. A training step that repeats itself finds every
// block it needs.
type arena struct {
	device storage.Device
	free   map[int][]storage.Storage // by size
	used   []storage.Storage
}

// get returns a block of at least size bytes, uninitialised.
func (a *arena) get(size int) (storage.Storage, error) {
	size = roomy(size)
	stack := a.free[size]
	if last := len(stack) - 1; last >= 0 {
		a.free[size] = stack[:last]
		a.used = append(a.used, stack[last])
		return stack[last], nil
	}
	block, err := a.device.Alloc(size)
	if err == nil {
		a.used = append(a.used, block)
	}
	return block, err
}

func (a *arena) reset() {
	for i := len(a.used) - 1; i >= 0; i-- { // so that the next step takes them in the same order
		block := a.used[i]
		a.free[block.Len()] = append(a.free[block.Len()], block)
	}
	clear(a.used)
	a.used = a.used[:0]
}

// roomy rounds size up to the next of eight sizes between powers of two, so
// that batches of nearly one size share blocks and at most an eighth is wasted.
func roomy(size int) int {
	if size <= 512 {
		return 512
	}
	step := 1 << (bits.Len(uint(size-1)) - 4)
	return (size + step - 1) &^ (step - 1)
}
