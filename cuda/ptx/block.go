package ptx

import (
	"fmt"
	"maps"
	"slices"
)

// A block is a thread block. Each worker reuses one for the blocks that it runs.
type block struct {
	*Kernel
	memory    *Memory
	params    []byte
	grid      [3]uint32
	size      [3]uint32
	threads   int
	registers []uint64 // of all threads, register by register
	shared    []byte
	races     bool
	shadow    shadow
	counters  *Counters
	recent    []span // the last allocation accessed by each instruction

	index    [3]uint32 // blockIdx
	allLanes []int32
	groups   []group
	at       int // the current instruction
	err      error
}

// A group is a sorted list of threads with the same program counter. It may wait behind
// a barrier for the block, or at a convergent instruction for its warps.
type group struct {
	at           int
	lanes        []int32
	waiting      bool
	waitsForWarp bool
}

// block returns a block with the registers set that are the same for all blocks. It reuses the memory of an earlier
// launch, where there was one.
func (k *Kernel) block(m *Memory, l Launch) *block {
	old, _ := k.idle.Get().(*block)
	if old == nil {
		old = new(block)
	}
	b := &block{Kernel: k, memory: m, params: l.Params, grid: l.Blocks, size: l.Threads, races: l.CheckRaces, allLanes: old.allLanes[:0], groups: old.groups}
	b.threads = int(l.Threads[0] * l.Threads[1] * l.Threads[2])
	b.registers = zeroed(old.registers, k.registers*b.threads)
	b.shared = zeroed(old.shared, k.Shared+l.Shared)
	b.recent = zeroed(old.recent, len(k.code))
	if l.CheckRaces {
		words := (len(b.shared) + 3) / 4
		b.shadow = shadow{writes: zeroed(old.shadow.writes, words), reads: zeroed(old.shadow.reads, words)}
	}
	if l.Counters != nil {
		b.counters = new(Counters)
	}
	for value, r := range k.constants {
		b.fill(r, value)
	}
	if k.dynamic != 0 {
		b.fill(k.dynamic, uint64(k.Shared))
	}
	for i := range b.threads {
		b.allLanes = append(b.allLanes, int32(i))
	}
	for name, r := range k.specials {
		for i := range b.row(r) {
			b.row(r)[i] = uint64(b.special(name, i))
		}
	}
	return b
}

// zeroed returns n zeros, in the memory of old where they fit.
func zeroed[T any](old []T, n int) []T {
	elems := slices.Grow(old[:0], n)[:n]
	clear(elems)
	return elems
}

// row is one register of all threads.
func (b *block) row(r int) []uint64 { return b.registers[r*b.threads : (r+1)*b.threads] }

func (b *block) fill(r int, value uint64) {
	row := b.row(r)
	for i := range row {
		row[i] = value
	}
}

func (b *block) special(name special, thread int) uint32 {
	switch name.kind {
	case "tid":
		return along(uint64(thread), b.size)[name.axis]
	case "ntid":
		return b.size[name.axis]
	case "nctaid":
		return b.grid[name.axis]
	}
	return b.index[name.axis]
}

// along returns the three-dimensional index of linear index i.
func along(i uint64, size [3]uint32) [3]uint32 {
	x, y := uint64(size[0]), uint64(size[1])
	return [3]uint32{uint32(i % x), uint32(i / x % y), uint32(i / x / y)}
}

// start makes b the n-th block of the grid.
func (b *block) start(n uint64) {
	b.index = along(n, b.grid)
	for name, r := range b.specials {
		if name.kind == "ctaid" {
			b.fill(r, uint64(b.index[name.axis]))
		}
	}
	for i := range b.shared {
		b.shared[i] = poison
	}
	b.shadow.epoch++
	b.groups = append(b.groups[:0], group{lanes: b.allLanes})
}

// fail ends the block with an error of thread l.
func (b *block) fail(l int32, format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("ptx: %s, block %v, thread %v: %s, at %v", b.Name, b.index, along(uint64(l), b.size), fmt.Sprintf(format, args...), b.code[b.at])
	}
}

// execute runs the block to its end.
func (b *block) execute() {
	for len(b.groups) > 0 && b.err == nil {
		if !b.mergeNearest() {
			b.releaseBarrier()
			continue
		}
		last := len(b.groups) - 1
		g := b.groups[last]
		b.groups = b.groups[:last]
		b.runGroup(g, b.lowestPC())
	}
}

// mergeNearest merges the groups at the lowest program counter into the last group. It
// reports false if all groups wait.
func (b *block) mergeNearest() bool {
	at := b.lowestPC()
	if at == len(b.code) {
		return false
	}
	var lanes []int32
	b.groups = slices.DeleteFunc(b.groups, func(g group) bool {
		if g.waiting || g.at != at {
			return false
		}
		lanes = merge(lanes, g.lanes)
		return true
	})
	b.groups = append(b.groups, group{at: at, lanes: lanes})
	return true
}

// lowestPC returns the lowest program counter of a group that does not wait, or the
// code's length if all wait.
func (b *block) lowestPC() int {
	at := len(b.code)
	for i := range b.groups {
		if !b.groups[i].waiting {
			at = min(at, b.groups[i].at)
		}
	}
	return at
}

// merge merges two disjoint sorted lists.
func merge(x, y []int32) []int32 {
	if len(x) == 0 {
		return y
	}
	z := make([]int32, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		if x[0] > y[0] {
			x, y = y, x
		}
		z, x = append(z, x[0]), x[1:]
	}
	return append(append(z, x...), y...)
}

// reconverge resumes warps whose threads all wait at the same convergent instruction.
// It reports false if no group waits for its warp.
func (b *block) reconverge() bool {
	here := map[int][]int32{}
	b.groups = slices.DeleteFunc(b.groups, func(g group) bool {
		if g.waitsForWarp {
			here[g.at] = merge(here[g.at], g.lanes)
		}
		return g.waitsForWarp
	})
	if len(here) == 0 {
		return false
	}
	moved := false
	for _, at := range slices.Sorted(maps.Keys(here)) {
		whole, rest := b.fullWarps(here[at])
		if len(whole) > 0 {
			b.groups = append(b.groups, group{at: at, lanes: whole})
			moved = true
		}
		if len(rest) > 0 {
			b.groups = append(b.groups, group{at: at, lanes: rest, waiting: true, waitsForWarp: true})
		}
	}
	if !moved {
		g := b.groups[len(b.groups)-1]
		b.at = g.at
		b.fail(g.lanes[0], "only some threads of the warp reach this: %d wait here", len(g.lanes))
	}
	return true
}

// fullWarps splits lanes into complete warps and the rest.
func (b *block) fullWarps(lanes []int32) (whole, rest []int32) {
	if len(lanes) == b.threads {
		return lanes, nil
	}
	warps(lanes, func(lanes []int32) {
		if first := lanes[0] / warp * warp; len(lanes) == min(warp, b.threads-int(first)) {
			whole = append(whole, lanes...)
		} else {
			rest = append(rest, lanes...)
		}
	})
	return whole, rest
}

// releaseBarrier resumes all threads, which wait at the same barrier.
func (b *block) releaseBarrier() {
	if b.reconverge() {
		return
	}
	first := b.groups[0]
	var lanes []int32
	for _, g := range b.groups {
		if g.at != first.at {
			b.at = first.at - 1
			b.fail(first.lanes[0], "only %d threads reach this barrier; thread %d and others wait at %v", len(first.lanes), g.lanes[0], b.code[g.at-1])
			return
		}
		lanes = merge(lanes, g.lanes)
	}
	b.shadow.epoch++
	b.groups = append(b.groups[:0], group{at: first.at, lanes: lanes})
}

// runGroup runs a group until it diverges, waits, exits, or reaches stop, where other
// groups are.
func (b *block) runGroup(g group, stop int) {
	for g.at < len(b.code) {
		in := &b.code[g.at]
		b.at = g.at
		b.countInstruction(in, g.lanes)
		taken, rest := b.partition(in, g.lanes)
		switch in.flow {
		case convergent:
			whole, rest := b.fullWarps(g.lanes)
			if len(rest) > 0 {
				b.groups = append(b.groups, group{at: g.at, lanes: rest, waiting: true, waitsForWarp: true})
			}
			if g.lanes = whole; len(whole) == 0 {
				return
			}
			in.run(b, whole)
			g.at++
		case straight:
			if len(taken) > 0 {
				in.run(b, taken)
			}
			g.at++
		case barrier:
			b.groups = append(b.groups, group{at: g.at + 1, lanes: g.lanes, waiting: true})
			return
		case exit:
			if g.at, g.lanes = g.at+1, rest; len(rest) == 0 {
				return
			}
		case branch:
			if len(taken) > 0 && len(rest) > 0 {
				b.groups = append(b.groups, group{at: in.target, lanes: taken}, group{at: g.at + 1, lanes: rest})
				return
			}
			if g.at++; len(taken) > 0 {
				g.at = in.target
			}
		}
		if b.err != nil {
			return
		}
		if g.at >= stop || in.flow == branch && stop < len(b.code) {
			b.groups = append(b.groups, g)
			return
		}
	}
}

// partition splits lanes by an instruction's predicate: those that execute it, and the rest.
func (b *block) partition(in *instruction, lanes []int32) (taken, rest []int32) {
	if in.guard == 0 {
		return lanes, nil
	}
	holds, n := b.row(in.guard), 0
	for _, l := range lanes {
		if (uint8(holds[l]) != 0) != in.negated {
			n++
		}
	}
	if n == 0 || n == len(lanes) {
		if n == 0 {
			return nil, lanes
		}
		return lanes, nil
	}
	both := make([]int32, len(lanes))
	taken, rest = both[:0:n], both[n:n]
	for _, l := range lanes {
		if (uint8(holds[l]) != 0) != in.negated {
			taken = append(taken, l)
		} else {
			rest = append(rest, l)
		}
	}
	return taken, rest
}
