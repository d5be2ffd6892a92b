package dataset

import "fmt"

// A Plan is what a Loader is going to do, in figures.
type Plan struct {
	Samples   int     // in this rank's epoch
	Batches   int     // of them
	Shuffle   Shuffle // what Auto became
	Window    int     // blocks open at a time; 0 if there are none
	Blocks    int     // in the whole dataset; 0 if every sample is read alone
	BlockSize int     // samples in the largest

	CachedBlocks int   // decoded blocks held at a time
	CacheAll     bool  // every decoded block stays for the next epoch
	KeepPages    bool  // the pages of a window's blocks stay in memory, though nothing is decoded
	Memory       int64 // bytes held at most

	// Amplification is how many samples are decoded for each one delivered, 0 if
	// none are. In an exact order on chunked data it is what to expect of chance.
	Amplification float64
	Notes         []string // what the user should know
}

// A window opens so many blocks that they take about windowBytes, within bounds
// that keep class-sorted files mixed and huge chunks affordable.
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

// lookahead is how many blocks beyond the window each worker may have decoded.
const lookahead = 2

// planner gathers what a Plan follows from.
type planner struct {
	o      Options
	d      Description
	blocks blocks
	plan   Plan
}

func newPlanner(d Description, o Options) (*planner, error) {
	if d.BlockEnds == nil && (o.Shuffle == Window || o.Shuffle == Auto && d.UnmappedBytes > beyondCache) {
		d.BlockEnds = d.evenBlocks()
	}
	d.SampleBytes = max(1, d.SampleBytes)
	p := &planner{o: o, d: d, blocks: newBlocks(d.BlockEnds)}
	p.shape()
	p.noteOrder()
	if o.OrderOnly {
		return p, nil
	}
	if err := p.fit(); err != nil {
		return nil, err
	}
	p.noteReading()
	return p, nil
}

// shape settles the order.
func (p *planner) shape() {
	first, end := share(p.d.Samples, p.o.Rank, p.o.World)
	p.plan = Plan{Samples: end - first, Blocks: p.blocks.count(), BlockSize: p.blocks.largest, Shuffle: p.o.Shuffle}
	p.plan.Batches = (p.plan.Samples + p.o.Batch - 1) / p.o.Batch
	if p.o.DropLast {
		p.plan.Batches = p.plan.Samples / p.o.Batch
	}
	if p.plan.Shuffle == Auto {
		p.plan.Shuffle = Exact
		if p.blocks.largest > 1 {
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

// batchesInHand is how many batches are being filled, waiting, or in use.
func batchesInFlight(o Options) int { return o.Workers + 2 + o.Lifetime }

// fit settles what is held in memory: as much as helps, within what is allowed.
// Sizes are floats because files may declare what no integer holds.
func (p *planner) fit() error {
	wanted, allowed := float64(defaultMemory), float64(maxDefaultMemory)
	if p.o.Memory > 0 {
		wanted, allowed = float64(p.o.Memory), float64(p.o.Memory)
	}
	sample := float64(p.d.SampleBytes)
	block, all := float64(p.blocks.largest)*sample, float64(p.d.Samples)*sample
	base := float64(p.d.HeldBytes) + p.beside()
	need := base + float64(batchesInFlight(p.o))*float64(p.o.Batch)*sample
	blocked := need + p.ordering()
	switch {
	case p.plan.Blocks == 0:
	case all+blocked <= wanted:
		p.plan.CachedBlocks, p.plan.CacheAll = p.plan.Blocks, true
		need = all + blocked
	case !p.d.Decoded:
		need = blocked
		if pages := float64(p.openAtOnce()) * block; p.plan.Window > 0 && need+pages <= wanted {
			p.plan.KeepPages = true
			need += pages
		}
	case p.plan.Window > 0:
		least := min(p.plan.Window+1, p.plan.Blocks)
		room := int(max(0, min(allowed-blocked, all)) / block)
		p.plan.CachedBlocks = max(least, min(p.plan.Window+lookahead*p.o.Workers, p.plan.Blocks, room))
		need = blocked + float64(p.plan.CachedBlocks)*block
	}
	if need > allowed {
		return p.refuse(need, allowed)
	}
	p.plan.Memory = int64(need)
	return nil
}

// openAtOnce returns how many blocks are asked for, and not yet given up, while
// batches of several rounds are in hand.
func (p *planner) openAtOnce() int {
	rounds := p.o.Batch/max(1, p.blocks.largest) + 2 // that a batch reaches over
	return min(p.plan.Blocks, p.plan.Window+lookahead*p.o.Workers+batchesInFlight(p.o)*rounds)
}

// beside returns the bytes workers, and the loop, decode blocks to before they pick samples out.
func (p *planner) beside() float64 {
	bands := 1 + p.d.DecodedSamples/max(1, p.d.Samples) // a block of a subset comes from more
	return float64((p.o.Workers+1)*bands) * float64(p.blocks.largest) * float64(p.d.SampleBytes)
}

// ordering returns the bytes that the order of an epoch by window takes.
func (p *planner) ordering() float64 {
	open := float64(p.blocks.largest) * float64(p.plan.Window+1)
	hand := open / 2
	return 8*(open+hand+float64(p.o.Workers+1)*float64(p.blocks.largest)) + 64*float64(p.plan.Blocks)
}

// refuse names what could be less.
func (p *planner) refuse(need, allowed float64) error {
	what, ways := fmt.Sprintf("batches of %d samples", p.o.Batch), "allow more"
	if p.plan.Window > 0 {
		what = fmt.Sprintf("a window of %d blocks of %d samples, and %s,", p.plan.Window, p.blocks.largest, what)
	}
	if p.plan.Window > 1 {
		ways += ", open fewer blocks"
	}
	if p.o.Batch > 1 {
		ways += ", take smaller batches"
	}
	return fmt.Errorf("dataset: %s of %s each, take %s, %w: %s; %s", what, size(float64(p.d.SampleBytes)), size(need), ErrMemory, size(allowed), ways)
}

// noteOrder settles what the user should know of the order.
func (p *planner) noteOrder() {
	if p.plan.Shuffle == Window && p.plan.Window < p.plan.Blocks {
		p.noteSorted()
	}
}

// noteReading settles what the user should know of what it takes to read.
func (p *planner) noteReading() {
	p.plan.Amplification = float64(p.d.DecodedSamples) / float64(max(1, p.d.Samples))
	if !p.d.Decoded && p.plan.CachedBlocks == 0 {
		p.plan.Amplification = 1
	}
	if p.plan.Blocks == 0 || p.plan.CachedBlocks > 0 || !p.d.Decoded {
		return
	}
	p.plan.Amplification = p.d.ExactAmplification(p.o.Batch)
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("an exact shuffle decodes %.0f samples for each one it uses, %d being decoded together; shuffle by window, allow %s of memory, or repack", p.plan.Amplification, p.blocks.largest, size(float64(p.d.Samples)*float64(p.d.SampleBytes))))
}

// noteSorted warns of labels in order. In trials, files sorted by class trained
// as well as mixed ones with so many blocks open, and worse with fewer.
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
