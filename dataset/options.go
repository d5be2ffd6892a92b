package dataset

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/h5dnn/h5dnn/storage"
)

// Options say how a Dataset is loaded. Batch must be set; the other zero values are
// a shuffled epoch on one machine.
type Options struct {
	BatchSize int     // samples in a batch
	DropLast  bool    // leave out the last batch if it is not full
	Shuffle   Shuffle // how the order is shuffled
	Window    int     // blocks in the shuffle buffer; 0 for about 64 MiB. Part of the order
	Seed      uint64  // part of the order
	Epoch     int     // part of the order; for Load
	Start     int     // samples of the epoch already consumed; for Load
	Workers   int     // goroutines that read; 0 for one per processor, at most 16
	Memory    int64   // limit in bytes; 0 for 512 MiB, or more if that is not enough; an order by window then keeps at most 96 MiB of decoded samples
	Lifetime  int     // iterations that a batch stays valid beyond the next one
	// Rank is the index of this process among WorldSize processes (0 counts as 1). Every
	// sample of an epoch is loaded by exactly one of them.
	Rank, WorldSize int
	// Shards divide the samples of an epoch, each with an order of its own; their numbers of samples differ by at
	// most one. Each rank has equally many of them, by default one, and each of its batches an equal part of each,
	// one after the other: so the samples of the batches of all ranks together depend on Shards, not on WorldSize.
	// The last batch has what is left of each, which may be nothing: there a rank may have a batch less than others.
	// Shards are part of the order.
	Shards int
	// OrderOnly makes a loader for Order alone: it reads no samples and takes no memory.
	OrderOnly bool
	// Stage changes the samples of each batch after they are read, such as an augmentation; nil for none.
	Stage Stage
	// Alloc allocates the memory of batches, for example the pinned memory of a
	// device; ordinary memory if it is nil.
	Alloc func(size int) (storage.Host, error)

	stageBytes int // of a sample, that Stage takes in a batch
}

// The memory that a loader uses if it suffices, and the limit, without Options.Memory:
// a file may declare far more samples than it holds. An order by window decodes each block once an epoch: blocks
// stay for later epochs only if that takes defaultKept, all in all.
const (
	defaultMemory    = 512 << 20
	defaultKept      = 96 << 20
	maxDefaultMemory = 16 << 30
)

// ErrMemory is the kind of error, for errors.Is, of a plan that does not fit into
// Options.Memory, or into 16 GiB if that is 0.
var ErrMemory = errors.New("more memory than is allowed")

// ErrWindow is the ErrMemory of a window of several blocks, of which a smaller Options.Window takes less.
var ErrWindow = fmt.Errorf("%w", ErrMemory)

// withDefaults returns o with its defaults filled in, for a dataset of n samples.
func (o Options) withDefaults(n int) (Options, error) {
	o.WorldSize = max(o.WorldSize, 1)
	if o.Shards == 0 {
		o.Shards = o.WorldSize
	}
	switch {
	case o.Shards < 0 || o.Shards%o.WorldSize != 0:
		return o, fmt.Errorf("dataset: %d processes for %d shards; want equally many for each", o.WorldSize, o.Shards)
	case o.BatchSize%o.local() != 0:
		return o, fmt.Errorf("dataset: batches of %d samples of %d shards; want an equal part of each", o.BatchSize, o.local())
	case o.BatchSize < 1:
		return o, fmt.Errorf("dataset: batches of %d samples; choose at least 1", o.BatchSize)
	case int(o.Shuffle) >= len(shuffles):
		return o, fmt.Errorf("dataset: unknown shuffle %d; choose Auto, None, Window or Exact", o.Shuffle)
	case o.Window < 0, o.Workers < 0, o.Memory < 0, o.Lifetime < 0:
		return o, fmt.Errorf("dataset: window %d, workers %d, memory %d, lifetime %d; none may be negative", o.Window, o.Workers, o.Memory, o.Lifetime)
	case o.Rank < 0 || o.Rank >= o.WorldSize:
		return o, fmt.Errorf("dataset: rank %d of %d; choose 0 to %d", o.Rank, o.WorldSize, o.WorldSize-1)
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 16)
	}
	if o.local() == 1 {
		o.BatchSize = min(o.BatchSize, max(n, 1))
	}
	return o, nil
}

// local returns the number of shards of a rank.
func (o Options) local() int { return o.Shards / o.WorldSize }
