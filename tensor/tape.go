package tensor

import (
	"runtime"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A Tape owns the memory of one step. Tapes are independent: each goroutine may
// train on its own.
type Tape struct {
	noGrad   bool
	ended    bool
	random   *Key // the next key that NextKey returns; nil if the step is not seeded
	used     []block
	autocast dtype.Type    // what products are computed as; Invalid if their operands' type
	pool     *storage.Pool // of the step's memory; its device's if nil
}

// A block is memory on loan.
type block struct {
	pool *storage.Pool
	storage.Storage
}

// Step runs one step of training and returns f's error. Results of f's expressions
// live until Step returns; a panic with *Error is returned as that error.
//
// The goroutine keeps to one operating system thread meanwhile, because the
// pool of arithmetic threads belongs to the thread that calls it.
func Step(f func(t *Tape) error) error { return runStep(&Tape{}, f) }

// Infer runs f as Step does, recording nothing for gradients.
func Infer(f func(t *Tape) error) error { return runStep(&Tape{noGrad: true}, f) }

func runStep(t *Tape, f func(t *Tape) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer t.end()
	var err error
	if failed := Try(func() { err = f(t) }); failed != nil {
		return failed
	}
	return err
}

// Input returns a constant that brings a into the step: what is computed from
// it lives in the step's memory. Ask for its gradient by RequireGrad.
func (t *Tape) Input(a storage.Array) *Tensor {
	return &Tensor{Array: a, noGrad: t.noGrad, tape: t}
}

// get returns at least size uninitialised bytes on d, for as long as the step lasts.
func (t *Tape) get(d storage.Device, size int) (storage.Storage, error) {
	pool := t.pool
	if pool == nil {
		pool = poolOf(d)
	}
	s, err := pool.Get(size)
	if err == nil {
		t.used = append(t.used, block{pool, s})
	}
	return s, err
}

// end gives the step's memory back, in reverse, so that a step like it takes the
// same blocks in the same order.
func (t *Tape) end() {
	t.ended = true
	for _, b := range slices.Backward(t.used) {
		b.pool.Put(b.Storage)
	}
	t.used = nil
}

// pools holds, by device, the memory that no step is using.
var pools sync.Map

func poolOf(d storage.Device) *storage.Pool {
	if pool, ok := pools.Load(d); ok {
		return pool.(*storage.Pool)
	}
	pool, _ := pools.LoadOrStore(d, storage.NewPool(d))
	return pool.(*storage.Pool)
}

// ReleaseMemory gives the memory kept between steps back.
func ReleaseMemory() { pools.Clear() }
