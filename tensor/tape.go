package tensor

import (
	"runtime"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// A Tape owns the memory of one step. Tapes are independent: each goroutine may
// train on its own.
type Tape struct {
	epoch  int // counts the steps it has served
	quiet  bool
	random *Key     // what DrawKey returns next; nil if the step is not seeded
	arenas []*arena // one for each device the step computes on
}

// Step runs one step of training. Results of f's expressions live until Step
// returns; a panic with *Error is returned as that error.
//
// The goroutine keeps to one operating system thread meanwhile, because the
// pool of arithmetic threads belongs to the thread that calls it.
func Step(f func(t *Tape)) error { return serve(false, f) }

// Infer runs f as Step does, recording nothing for gradients.
func Infer(f func(t *Tape)) error { return serve(true, f) }

// Watch returns a constant that brings a into the step: what is computed from
// it lives in the step's memory. Ask for its gradient by RequireGrad.
func (t *Tape) Watch(a storage.Array) *Tensor {
	return &Tensor{Array: a, quiet: t.quiet, tape: t, epoch: t.epoch}
}

// idle holds tapes between steps, so that steps after the first find memory.
var idle struct {
	sync.Mutex
	tapes []*Tape
}

func serve(quiet bool, f func(t *Tape)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t := borrow()
	t.quiet, t.random = quiet, nil
	defer t.giveBack()
	return Try(func() { f(t) })
}

func borrow() *Tape {
	idle.Lock()
	defer idle.Unlock()
	last := len(idle.tapes) - 1
	if last < 0 {
		return new(Tape)
	}
	t := idle.tapes[last]
	idle.tapes = idle.tapes[:last]
	return t
}

func (t *Tape) giveBack() {
	t.epoch++
	for _, a := range t.arenas {
		a.reset()
	}
	idle.Lock()
	defer idle.Unlock()
	idle.tapes = append(idle.tapes, t)
}

// ReleaseMemory gives the memory kept between steps back.
func ReleaseMemory() {
	idle.Lock()
	defer idle.Unlock()
	idle.tapes = nil
}

// arena returns the tape's memory on d.
func (t *Tape) arena(d storage.Device) *arena {
	for _, a := range t.arenas {
		if a.device == d {
			return a
		}
	}
	a := &arena{device: d, free: map[int][]storage.Storage{}}
	t.arenas = append(t.arenas, a)
	return a
}
