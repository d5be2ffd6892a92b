package tensor

import (
	"runtime"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A Tape owns the memory of one step. Tapes are independent: each goroutine may
// train on its own.
type Tape struct {
	noGrad      bool
	ended       bool
	recomputing bool          // see Context.Recomputing
	random      *Key          // the next key that NextKey returns
	seeded      bool          // whether random follows from Seed or SeedAt
	roundsBF16  bool          // see RoundProducts
	autocast    dtype.Type    // the type that products are computed in; Invalid if their operands' type
	recorder    *recorder     // of the operations, for Compile; nil for none
	pool        *storage.Pool // of the step's memory on its device; nil for the memory that steps share

	used       []*block // in the order in which they were taken
	spare      []block  // to be used next
	live, peak int      // bytes that are taken, and the most that were

	multiplyAdds int // see MultiplyAdds

	first struct { // what used and spare are at first, for steps of few operations
		used  [2]*block
		spare [2]block
	}
}

// A block is memory of a step.
type block struct {
	pool *storage.Pool
	storage.Storage
	// uses counts the recorded operations whose Backward may read the block, and the
	// pending gradients in it.
	uses     int32
	freeable bool // whether the backward pass may release it: only it knows of the block
	kept     bool // until the step ends: see Tape.Keep
	released bool
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
	t.used, t.spare = t.first.used[:0], t.first.spare[:]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer t.end()
	var err error
	if failed := Try(func() { err = f(t) }); failed != nil {
		return failed
	}
	return err
}

// Input returns a constant that brings a into the step: results computed from
// it live in the step's memory. Ask for its gradient by RequireGrad.
func (t *Tape) Input(a storage.Array) *Tensor {
	return &Tensor{array: a, noGrad: t.noGrad, tape: t}
}

// Scope returns the results of f. In a step that records nothing it gives back the memory of
// all other tensors that f has computed, which cannot be read afterwards. A nil Tape is no step.
func (t *Tape) Scope(f func() []*Tensor) []*Tensor {
	if t == nil || !t.noGrad || t.recorder != nil {
		return f()
	}
	first := len(t.used)
	out := f()
	for _, b := range t.used[first:] {
		if !b.kept && !slices.ContainsFunc(out, func(y *Tensor) bool { return y != nil && y.block == b }) {
			t.release(b)
		}
	}
	return out
}

// Release gives the memory of xs back, and of all views of them, in a step that records
// nothing, unless one of kept shares it. They cannot be read afterwards.
func (t *Tape) Release(xs, kept []*Tensor) {
	if t == nil || !t.noGrad || t.recorder != nil {
		return
	}
	for _, x := range xs {
		if x.tape == t && x.block != nil && !x.block.kept && !slices.ContainsFunc(kept, func(y *Tensor) bool { return y.block == x.block }) {
			t.release(x.block)
		}
	}
}

// Keep makes Scope and Release leave the memory of x, which stays until the step ends. A nil Tape is no step.
func (t *Tape) Keep(x *Tensor) {
	if t != nil && x != nil && x.block != nil {
		x.block.kept = true
	}
}

// PeakMemory returns the most bytes of results, saved values and gradients that the
// step has held at once.
func (t *Tape) PeakMemory() int { return t.peak }

// get returns at least size uninitialised bytes on d, for as long as the step lasts.
func (t *Tape) get(d storage.Device, size int) (storage.Storage, *block, error) {
	pool := t.pool
	if pool == nil || pool.Device() != d {
		pool = poolOf(d)
	}
	s, err := pool.Get(size)
	if err != nil {
		return nil, nil, err
	}
	if len(t.spare) == 0 {
		t.spare = make([]block, min(max(4, len(t.used)), 32))
	}
	b := &t.spare[0]
	t.spare = t.spare[1:]
	b.pool, b.Storage = pool, s
	t.used = append(t.used, b)
	t.live += s.Len()
	t.peak = max(t.peak, t.live)
	return s, b, nil
}

// allocated returns how many blocks the step has taken; none outside of steps.
func (t *Tape) allocated() int {
	if t == nil {
		return 0
	}
	return len(t.used)
}

// release gives b back before the step ends.
func (t *Tape) release(b *block) {
	if b.released {
		return
	}
	b.released = true
	t.live -= b.Len()
	b.pool.Put(b.Storage)
}

// end gives the step's memory back, in reverse, so that a step like it takes the
// same blocks in the same order.
func (t *Tape) end() {
	t.ended = true
	for _, b := range slices.Backward(t.used) {
		t.release(b)
	}
	t.used = nil
}

// scratch is the memory of one call of Apply, for another to use again.
type scratch struct {
	specs   []Spec
	arrays  []storage.Array
	context Context
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release puts s back, without references to the operands' memory.
func (s *scratch) release() {
	clear(s.specs)
	clear(s.arrays)
	s.specs, s.arrays, s.context = s.specs[:0], s.arrays[:0], Context{}
	scratches.Put(s)
}

// pools holds, by device, the memory that no step is using.
var pools sync.Map

func poolOf(d storage.Device) *storage.Pool {
	if d == kernels.CPU {
		d = storage.CPU
	}
	if pool, ok := pools.Load(d); ok {
		return pool.(*storage.Pool)
	}
	pool, _ := pools.LoadOrStore(d, storage.NewPool(d))
	return pool.(*storage.Pool)
}

// ReleaseMemory gives the memory kept between steps back.
func ReleaseMemory() {
	pools.Range(func(_, pool any) bool {
		pool.(*storage.Pool).Drop()
		return true
	})
	pools.Clear()
}
