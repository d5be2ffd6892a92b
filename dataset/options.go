package dataset

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/h5dnn/h5dnn/storage"
)

// Options say how a Dataset is loaded. Their zero value, but for Batch, is a
// shuffled epoch on one machine.
type Options struct {
	Batch    int     // samples in a batch
	DropLast bool    // leave out a last batch that is not full
	Shuffle  Shuffle // how the order is drawn
	Window   int     // blocks open at a time; 0 takes Plan.Window's default. Part of the order
	Seed     uint64  // part of the order
	Epoch    int     // part of the order; for Load
	Start    int     // samples of the epoch already consumed; for Load
	Workers  int     // goroutines that read; 0 takes one for each processor
	Memory   int64   // bytes the loader may hold; 0 takes 512 MiB, or more if that is not enough
	Rank     int     // this process's share of each epoch is Rank of World
	World    int     // 0 counts as 1
	Lifetime int     // turns of the loop that a batch stays valid beyond the next one
	// OrderOnly is for a loader that only says, by Rows, which samples are next: it
	// reads none, and so takes no memory.
	OrderOnly bool
	// Alloc makes the memory of batches, host memory such as a device copies
	// from by itself; ordinary memory if it is nil.
	Alloc func(size int) (storage.Host, error)
}

// What a loader makes itself comfortable with, and what it takes at most, unless
// told: a file may declare far more samples than it holds.
const (
	defaultMemory    = 512 << 20
	maxDefaultMemory = 16 << 30
)

// ErrMemory is what would not fit into Options.Memory, or 16 GiB if that is 0.
var ErrMemory = errors.New("more memory than is allowed")

// settled returns o with its defaults filled in, for a dataset of n samples.
func (o Options) withDefaults(n int) (Options, error) {
	o.World = max(o.World, 1)
	switch {
	case o.Batch < 1:
		return o, fmt.Errorf("dataset: batches of %d samples; choose at least 1", o.Batch)
	case int(o.Shuffle) >= len(shuffles):
		return o, fmt.Errorf("dataset: unknown shuffle %d; choose Auto, None, Window or Exact", o.Shuffle)
	case o.Window < 0, o.Workers < 0, o.Memory < 0, o.Lifetime < 0:
		return o, fmt.Errorf("dataset: window %d, workers %d, memory %d, held %d; none may be negative", o.Window, o.Workers, o.Memory, o.Lifetime)
	case o.Rank < 0 || o.Rank >= o.World:
		return o, fmt.Errorf("dataset: rank %d of %d; choose 0 to %d", o.Rank, o.World, o.World-1)
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 16)
	}
	o.Batch = min(o.Batch, max(n, 1))
	return o, nil
}
