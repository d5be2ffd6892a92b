package dataset

import (
	"fmt"
	"math"
)

// A Plan is what a Loader is going to do, in figures.
type Plan struct {
	Samples int     // in this rank's epoch
	Batches int     // of them
	Shuffle Shuffle // what Auto became
	Window  int     // blocks open at a time; 0 if there are none
	Blocks  int     // in the whole dataset; 0 if every sample is read alone
	Block   int     // samples in the largest

	Slots  int   // decoded blocks held at a time
	Kept   bool  // every decoded block stays for the next epoch
	Memory int64 // bytes held at most

	// Amplification is how many samples are decoded for each one delivered. In
	// an exact order on chunked data it is what to expect of chance.
	Amplification float64
	Notes         []string // what the user should know
}

// A window opens so many blocks that they take about windowBytes, within bounds
// that keep class-sorted files mixed and huge chunks affordable.
const (
	windowBytes = 64 << 20
	fewestOpen  = 16
	mostOpen    = 64
	mixedRows   = 4096 // small blocks: at least this many samples to draw from
)

// defaultWindow depends on the data only, so that the order does.
func defaultWindow(blockRows, sampleBytes int) int {
	most := max(mostOpen, mixedRows/max(1, blockRows))
	return min(max(windowBytes/max(1, blockRows*sampleBytes), fewestOpen), most)
}

// lookahead is how many blocks beyond the window each worker may have decoded.
const lookahead = 2

// planner gathers what a Plan follows from.
type planner struct {
	o       Options
	d       scatterer
	blocks  blocks
	decoded int
	sample  int // bytes
	plan    Plan
}

func newPlanner(d scatterer, o Options) (*planner, error) {
	p := &planner{o: o, d: d, sample: max(1, sampleBytes(d))}
	ends, decoded := blocksOf(d)
	if ends == nil && o.Shuffle == Window {
		ends = evenBlocks(d)
	}
	p.blocks, p.decoded = newBlocks(ends), decoded
	p.shape()
	if err := p.fit(); err != nil {
		return nil, err
	}
	p.note()
	return p, nil
}

// shape settles the order.
func (p *planner) shape() {
	first, end := share(p.d.Len(), p.o.Rank, p.o.World)
	p.plan = Plan{Samples: end - first, Blocks: p.blocks.count(), Block: p.blocks.largest, Shuffle: p.o.Shuffle}
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
			p.plan.Window = defaultWindow(p.blocks.largest, p.sample)
		}
		p.plan.Window = min(p.plan.Window, p.plan.Blocks)
	}
}

// batches returns how many batches are filled, waiting or in use at a time.
func (p *planner) batches() int {
	if p.plan.Slots > 0 {
		return 3
	}
	return p.o.Workers + 2
}

// fit settles what is held in memory.
func (p *planner) fit() error {
	budget := p.o.Memory
	if budget == 0 {
		budget = defaultMemory
	}
	base := int64(p.d.holds())
	batch := int64(p.o.Batch) * int64(p.sample)
	all := int64(p.d.Len()) * int64(p.sample)
	// A worker that picks samples out of a block decodes it beside the slot.
	block := int64(p.blocks.largest) * int64(p.sample)
	beside := int64(p.o.Workers) * block * int64((p.decoded+p.d.Len())/max(1, p.d.Len()))
	switch {
	case p.plan.Blocks == 0:
		p.plan.Memory = base + int64(p.batches())*batch
	case all+base+3*batch+beside <= budget:
		p.plan.Slots, p.plan.Kept = p.plan.Blocks, true
		p.plan.Memory = all + base + 3*batch + beside
	case p.plan.Shuffle == Exact:
		p.plan.Memory = base + int64(p.batches())*batch + beside
	default:
		p.plan.Slots = min(p.plan.Window+lookahead*p.o.Workers, p.plan.Blocks)
		fixed := base + 3*batch + beside
		if p.o.Memory > 0 {
			p.plan.Slots = min(p.plan.Slots, int(max(0, budget-fixed)/block))
		}
		least := min(p.plan.Window+1, p.plan.Blocks)
		p.plan.Memory = fixed + int64(max(p.plan.Slots, least))*block
		if p.plan.Slots < least {
			return fmt.Errorf("dataset: a window of %d blocks of %d samples needs %s of memory, %s are allowed; allow more, or open fewer blocks", p.plan.Window, p.blocks.largest, size(p.plan.Memory), size(budget))
		}
	}
	if p.o.Memory > 0 && p.plan.Memory > budget {
		return fmt.Errorf("dataset: batches of %d samples and what stays decoded need %s of memory, %s are allowed; allow more, or take smaller batches", p.o.Batch, size(p.plan.Memory), size(budget))
	}
	return nil
}

// note settles what the user should know.
func (p *planner) note() {
	p.plan.Amplification = float64(p.decoded) / float64(max(1, p.d.Len()))
	if mixed := p.plan.Window; p.plan.Shuffle == Window && mixed < p.plan.Blocks {
		if sorted := sortedLabels(p.d); sorted != "" {
			p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("%s; batches are drawn from %d of %d blocks at a time, open more if training suffers, or shuffle exactly", sorted, mixed, p.plan.Blocks))
		}
	}
	if p.plan.Blocks == 0 || p.plan.Slots > 0 {
		return
	}
	p.plan.Amplification = p.exactAmplification()
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("an exact shuffle decodes %.0f samples for each one it uses, %d being decoded together; shuffle by window, allow %s of memory, or repack", p.plan.Amplification, p.blocks.largest, size(int64(p.d.Len())*int64(p.sample))))
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}

// exactAmplification expects of one batch, b samples out of any of n blocks, to
// touch n·(1-(1-1/n)ᵇ) of them.
func (p *planner) exactAmplification() float64 {
	n, batch := float64(p.plan.Blocks), float64(p.o.Batch)
	touched := n * -math.Expm1(batch*math.Log1p(-1/n))
	return touched * float64(p.decoded) / n / batch
}
