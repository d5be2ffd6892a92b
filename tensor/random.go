package tensor

import (
	"sync"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A Key is the key of a stream of random numbers of a counter-based generator. Equal keys
// give equal numbers, on every device and for any number of threads: uniform ones to the bit,
// normal ones to the rounding of each device's logarithm and cosine.
type Key struct {
	Seed, Stream uint64
	// Base, if it is not nil, is a single uint64 that is added to Stream when
	// numbers are drawn: a captured step draws other numbers at each replay.
	Base *storage.Array
}

// Seed makes the step's random numbers a function of seed and step alone: the
// n-th operation that draws gets the n-th stream.
func (t *Tape) Seed(seed, step uint64) {
	t.random, t.seeded = &Key{Seed: seed, Stream: RandomStream(step)}, true
}

// SeedAt is Seed of the step whose RandomStream base holds when the step runs: a
// single uint64, on the device that computes the step.
func (t *Tape) SeedAt(seed uint64, base storage.Array) {
	t.random, t.seeded = &Key{Seed: seed, Base: &base}, true
}

// RandomStream returns the first stream of a step.
func RandomStream(step uint64) uint64 { return step << 16 }

// global counts the steps, and the draws outside of steps, that were not seeded.
var global struct {
	sync.Mutex
	seed, drawn, initial uint64
	seeded               bool
}

// ManualSeed makes the random numbers that have no key of their own, of steps without a seed, of the functions of
// this package and of new layers of package nn, a function of seed and of the number of draws since. Without it the
// seed is 0: a program that draws in one order draws the same numbers each time it runs.
func ManualSeed(seed uint64) {
	global.Lock()
	defer global.Unlock()
	global.seed, global.drawn, global.initial, global.seeded = seed, 0, 0, true
}

// NextInitialKey returns the next key for the initial values of parameters, whose streams are counted apart from other
// draws: [ManualSeed] begins them anew.
func NextInitialKey() Key {
	global.Lock()
	defer global.Unlock()
	global.initial++
	if !global.seeded {
		return Key{Stream: global.initial}
	}
	return Key{Seed: global.seed, Stream: global.initial | 1<<62} // no stream of a step
}

// nextKeys returns the first key for what was not seeded: its streams are those of no
// other step.
func nextKeys() *Key {
	global.Lock()
	defer global.Unlock()
	global.drawn++
	return &Key{Seed: global.seed, Stream: RandomStream(global.drawn) | 1<<63}
}

// NextKey returns the next random key of the step that x belongs to, and whether it
// follows from [Tape.Seed]. Without a step or a seed the key is one that was not
// returned before in this process.
func (x *Tensor) NextKey() (key Key, seeded bool) {
	if x.tape == nil {
		return *nextKeys(), false
	}
	return x.tape.nextKey(), x.tape.seeded
}

func (t *Tape) nextKey() Key {
	t.refuse("draws random numbers")
	if t.random == nil {
		t.random = nextKeys()
	}
	if last := RandomStream(1) - 1; t.random.Stream&last == last {
		fail("random", ErrState, "a step draws more than %d keys; draw fewer and larger tensors, or make several steps", last)
	}
	key := *t.random
	t.random.Stream++
	return key
}

// FillUniform sets a's elements to numbers of key's stream, uniform in [low, high).
func FillUniform(a storage.Array, low, high float64, key Key) {
	key.fill("uniform", kernels.Uniform, a, low, high)
}

// FillNormal sets a's elements to normal numbers of key's stream.
func FillNormal(a storage.Array, mean, std float64, key Key) {
	key.fill("normal", kernels.Normal, a, mean, std)
}
