package dataset

import (
	"fmt"
	"math"
)

// A Plan describes the order, the reading and the memory of a Loader.
type Plan struct {
	Samples   int     // in an epoch of this rank
	Batches   int     // in an epoch of this rank
	Shuffle   Shuffle // the one that Auto stands for
	Window    int     // blocks open at a time, the size of the shuffle buffer; 0 if there are no blocks
	Blocks    int     // in the whole dataset; 0 if every sample is read alone
	BlockSize int     // samples in the largest

	CachedBlocks int   // decoded blocks in memory at a time
	CacheAll     bool  // every decoded block stays cached for later epochs
	Scattered    bool  // each block is read once, straight into the batches its samples are in; nothing is decoded
	InFlight     int   // batches in memory: being filled, waiting, or in use
	Memory       int64 // peak, in bytes

	// Amplification is the number of samples decoded for each one delivered, 1 if
	// nothing is decoded more than once. For an exact shuffle of chunked data it is
	// an expected value, or more where a block is several chunks.
	Amplification float64
	Notes         []string // what the user should know
}

// A window has as many blocks as take about windowBytes, within bounds that keep
// files sorted by class mixed and huge chunks affordable.
const (
	windowBytes = 64 << 20
	minOpen     = 16
	maxOpen     = 64
	mixedRows   = 4096 // small blocks: at least this many samples to draw from
)

// defaultWindow depends on the data only, so that the order does.
func defaultWindow(blockRows, sampleBytes int) int {
	most := max(maxOpen, mixedRows/max(1, blockRows))
	return min(max(windowBytes/max(1, blockRows*sampleBytes), minOpen), most)
}

// lookahead is how many blocks beyond the window each worker may decode or prefetch.
const lookahead = 2

// A planner makes a Plan from options and the description of a dataset.
type planner struct {
	o      Options
	d      Description
	blocks blocks
	rows   *rowBlocks // nil if blocks are cached as samples
	plan   Plan
}

func newPlanner(d Description, o Options) (*planner, error) {
	if d.BlockEnds == nil && (d.Remote || o.Shuffle == Window || o.Shuffle == Auto && d.UnmappedBytes > beyondCache) {
		d.BlockEnds = d.evenBlocks()
	}
	d.SampleBytes = max(1, d.SampleBytes)
	p := &planner{o: o, d: d, blocks: newBlocks(d.BlockEnds)}
	p.rows = newRowBlocks(d, p.blocks)
	p.planOrder()
	p.noteOrder()
	if o.OrderOnly {
		return p, nil
	}
	if err := p.planMemory(); err != nil {
		return nil, err
	}
	p.noteReading()
	return p, nil
}

// planOrder sets the shuffle, the window and the number of batches.
func (p *planner) planOrder() {
	p.plan = Plan{Samples: p.o.batching(p.d.Samples).samples(), Blocks: p.blocks.count(), BlockSize: p.blocks.largest, Shuffle: p.o.Shuffle}
	p.plan.Batches = (p.plan.Samples + p.o.BatchSize - 1) / p.o.BatchSize
	if p.o.DropLast {
		p.plan.Batches = fullSamples(p.d.Samples, p.o) / p.o.BatchSize
	}
	if p.plan.Shuffle == Auto {
		p.plan.Shuffle = Exact
		if p.blocks.largest > 1 && !p.exactIsCheap() {
			p.plan.Shuffle = Window
		}
	}
	switch {
	case p.plan.Blocks == 0:
	case p.plan.Shuffle == None:
		p.plan.Window = 1
	case p.plan.Shuffle == Window:
		p.plan.Window = p.o.Window
		if p.plan.Window == 0 {
			p.plan.Window = defaultWindow(p.blocks.largest, p.d.SampleBytes)
		}
		p.plan.Window = min(p.plan.Window, p.plan.Blocks)
	}
}

// exactIsCheap reports whether samples that are read alone cost little more than samples in blocks. It depends on
// the data only, so that the order does.
func (p *planner) exactIsCheap() bool {
	const littleMore = 1.25
	byBlock := float64(p.d.DecodedSamples) * float64(p.d.SampleBytes)
	if p.rows != nil {
		byBlock = p.rows.all
	}
	return !p.d.Remote && p.d.aloneBytes > 0 && float64(p.d.aloneBytes)*float64(p.d.Samples) <= littleMore*byBlock
}

// fewestBatches is how many batches are in memory at least.
func fewestBatches(o Options) int { return o.Workers + 2 + o.Lifetime }

// planMemory decides what stays in memory, within the limit. Sizes are floats
// because files may declare more than an int counts.
func (p *planner) planMemory() error {
	wanted, allowed := float64(defaultMemory), float64(maxDefaultMemory)
	if p.o.Memory > 0 {
		wanted, allowed = float64(p.o.Memory), float64(p.o.Memory)
	}
	kept := wanted // for all blocks
	if p.plan.Window > 0 && p.o.Memory == 0 {
		kept = defaultKept
	}
	sample := float64(p.d.SampleBytes)
	block, all := p.cacheBytes()
	base := float64(p.d.HeldBytes) + p.scratchBytes()
	p.plan.InFlight = fewestBatches(p.o)
	need := base + float64(p.plan.InFlight)*float64(p.o.BatchSize)*(sample+float64(p.o.stageBytes))
	blocked := need + p.orderBytes()
	switch {
	case p.plan.Blocks == 0:
	case all+blocked <= kept:
		p.plan.CachedBlocks, p.plan.CacheAll = p.plan.Blocks, true
		need = all + blocked
	case !p.d.Decoded && p.plan.Window > 0:
		need = p.planScattering(blocked, wanted)
	case !p.d.Decoded:
		need = blocked
	case p.plan.Window > 0:
		open := p.open()
		least := min(open+1, p.plan.Blocks)
		fitting := int(max(0, min(allowed-blocked, all)) / block)
		p.plan.CachedBlocks = max(least, min(open+lookahead*p.o.Workers, p.plan.Blocks, fitting))
		p.plan.CacheAll = p.plan.CachedBlocks == p.plan.Blocks
		need = blocked + float64(p.plan.CachedBlocks)*block
	}
	if need > allowed {
		return p.memoryError(need, allowed)
	}
	p.plan.Memory = int64(need)
	return nil
}

// planScattering decides whether blocks are scattered, and over how many batches, if need
// is what other things take and wanted is the limit. It returns what they all take.
func (p *planner) planScattering(need, wanted float64) float64 {
	const most = math.MaxUint32 // samples, see wantedSamples
	batch := float64(p.o.BatchSize)
	if float64(p.plan.InFlight)*batch > most {
		return need
	}
	p.plan.Scattered = true
	need += p.scatteringBytes() + float64(p.plan.InFlight)*batch*wantedBytes
	bytes := batch * (float64(p.d.SampleBytes+p.o.stageBytes) + wantedBytes)
	ahead := math.Floor(max(0, min(float64(p.batchesAhead()), most/batch-float64(p.plan.InFlight), (wanted-need)/bytes)))
	p.plan.InFlight += int(ahead)
	return need + ahead*bytes
}

// fullSamples returns the number of samples in the full batches of a rank, the same for each rank, of n samples in all.
func fullSamples(n int, o Options) int {
	return n / o.Shards / (o.BatchSize / o.local()) * o.BatchSize
}

// open returns how many blocks the shards of the rank have open together.
func (p *planner) open() int {
	return p.o.local() * shardWindow(p.plan.Window, p.o.Shards)
}

// shardWindow returns the window of a shard, its part of the window of all.
func shardWindow(window, shards int) int { return (window + shards - 1) / shards }

// batchesAhead returns how many batches more are to be open so that all samples of a
// block have a batch when its first one is needed: those of a window, and of the blocks
// that workers read beyond it.
func (p *planner) batchesAhead() int {
	blocks := min(p.plan.Blocks, p.open()+1+lookahead*p.o.Workers)
	return min((blocks*p.blocks.largest+p.o.BatchSize-1)/p.o.BatchSize, p.plan.Batches)
}

// scatteringBytes returns the size of the state of a scattering, besides wantedBytes for
// every sample of the batches.
func (p *planner) scatteringBytes() float64 {
	const taskBytes, blockBytes = 24, 32 // of a sample, and of a block
	lists, tasks := min(p.plan.Blocks, p.open()+2), p.o.Workers+1
	return float64(p.blocks.largest)*float64(wantedBytes*lists+taskBytes*tasks) + blockBytes*float64(p.plan.Blocks)
}

// cacheBytes returns the size of the largest block in the cache, and of all of them.
func (p *planner) cacheBytes() (block, all float64) {
	if p.rows != nil {
		return p.rows.bytes, p.rows.all
	}
	sample := float64(p.d.SampleBytes)
	return float64(p.blocks.largest) * sample, float64(p.d.Samples) * sample
}

// scratchBytes returns the size of the buffers into which workers and the loop decode
// blocks before they pick samples.
func (p *planner) scratchBytes() float64 {
	chunks := 1 + p.d.DecodedSamples/max(1, p.d.Samples) // a block of a subset comes from several
	block, _ := p.cacheBytes()
	return float64((p.o.Workers+1)*chunks) * block
}

// orderBytes returns the size of the state of a windowOrder.
func (p *planner) orderBytes() float64 {
	open := float64(p.blocks.largest) * float64(p.open()+1)
	round := open / 2
	return 8*(open+round+float64(p.o.Workers+1)*float64(p.blocks.largest)) + 64*float64(p.plan.Blocks)
}

// memoryError says what takes too much memory and which settings take less.
func (p *planner) memoryError(need, allowed float64) error {
	what, ways := fmt.Sprintf("batches of %d samples", p.o.BatchSize), "allow more"
	if p.plan.Window > 0 {
		what = fmt.Sprintf("a window of %d blocks of %d samples, and %s,", p.plan.Window, p.blocks.largest, what)
	}
	kind := ErrMemory
	if p.plan.Window > 1 {
		kind, ways = ErrWindow, ways+", open fewer blocks"
	}
	if p.o.BatchSize > 1 {
		ways += ", take smaller batches"
	}
	return fmt.Errorf("dataset: %s of %s each, take %s, %w: %s; %s", what, size(float64(p.d.SampleBytes)), size(need), kind, size(allowed), ways)
}

// noteOrder adds notes on the order.
func (p *planner) noteOrder() {
	if p.plan.Shuffle == Window && p.plan.Window < p.plan.Blocks {
		p.noteSorted()
	}
}

// worthNoting is the read amplification from which on there is a note: window shuffling has as much at most.
const worthNoting = 2

// noteReading sets the read amplification and adds a note if it is high.
func (p *planner) noteReading() {
	p.plan.Amplification = float64(p.d.DecodedSamples) / float64(max(1, p.d.Samples))
	if !p.d.Decoded && p.plan.CachedBlocks == 0 {
		p.plan.Amplification = 1
	}
	if p.plan.Blocks == 0 || p.plan.CachedBlocks > 0 || !p.d.Decoded {
		return
	}
	p.plan.Amplification = p.d.ExactAmplification(p.o.BatchSize)
	if p.plan.Amplification < worthNoting {
		return
	}
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("an exact shuffle decodes up to %.0f samples for each one it uses, as chunks hold up to %d; shuffle by window, allow %s of memory, or repack the file", p.plan.Amplification, p.blocks.largest, size(float64(p.d.Samples)*float64(p.d.SampleBytes))))
}

// noteSorted warns of sorted labels. In trials, files sorted by class trained as well
// as mixed ones with 32 blocks open, and worse with fewer.
func (p *planner) noteSorted() {
	const mixesWell = 32
	sorted := p.d.sortedLabels()
	if sorted == "" {
		return
	}
	effect := "which is enough to mix them"
	if p.plan.Window < mixesWell {
		effect = fmt.Sprintf("too few to mix them: open %d, or shuffle exactly", mixesWell)
	}
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("%s; batches are drawn from %d of %d blocks at a time, %s", sorted, p.plan.Window, p.plan.Blocks, effect))
}

func size(bytes float64) string {
	for _, unit := range []string{"bytes", "KiB", "MiB", "GiB"} {
		if bytes < 1024 || unit == "GiB" {
			return fmt.Sprintf("%.4g %s", bytes, unit)
		}
		bytes /= 1024
	}
	return ""
}
