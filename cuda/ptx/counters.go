package ptx

import (
	"slices"
	"strings"
)

// Counters count what a launch asks of a GPU. A request is one access of a warp
// of 32 threads.
type Counters struct {
	Instructions   uint64        // of blocks
	Issued         uint64        // of warps: for each, what a multiprocessor issues
	Kinds          [kinds]uint64 // the same, by kind
	Lanes          uint64        // of threads
	Requests       uint64        // to global memory
	Sectors        uint64        // of 32 bytes that they touch: 4 a request are perfect for adjacent 4-byte elements
	SharedRequests uint64
	Wavefronts     uint64 // passes over shared memory: 1 a request is perfect, more are bank conflicts
	Cycles         uint64 // of the schedulers of an sm_90, by a model of what instructions and accesses cost: see cost.go
}

// A Kind is what an instruction works on.
type Kind uint8

// The kinds.
const (
	Other  Kind = iota // whole numbers, moves, tests and branches
	Float              // arithmetic of floats
	Matrix             // products of matrices
	Access             // loads and stores of any memory
	kinds
)

// kindOf returns the kind of an opcode.
func kindOf(opcode string) Kind {
	words := split(opcode)
	switch words[0] {
	case "mma":
		return Matrix
	case "ld", "st", "atom", "red", "ldmatrix":
		return Access
	case "add", "sub", "mul", "fma", "div", "rcp", "sqrt", "ex2", "lg2", "neg", "abs", "min", "max":
		if strings.HasPrefix(words[len(words)-1], "f") {
			return Float
		}
	}
	return Other
}

const warp = 32

// Add adds another's counts.
func (c *Counters) Add(d *Counters) {
	c.Instructions += d.Instructions
	c.Issued += d.Issued
	c.Lanes += d.Lanes
	for kind := range c.Kinds {
		c.Kinds[kind] += d.Kinds[kind]
	}
	c.Requests += d.Requests
	c.Sectors += d.Sectors
	c.SharedRequests += d.SharedRequests
	c.Wavefronts += d.Wavefronts
	c.Cycles += d.Cycles
}

// warps calls visit for the lanes of each warp.
func warps(lanes []int32, visit func(lanes []int32)) {
	for len(lanes) > 0 {
		n := 1
		for n < len(lanes) && lanes[n]/warp == lanes[0]/warp {
			n++
		}
		visit(lanes[:n])
		lanes = lanes[n:]
	}
}

// countInstruction counts one of these threads, those included that its guard holds back.
func (b *block) countInstruction(in *instruction, lanes []int32) {
	if b.counters == nil {
		return
	}
	b.counters.Instructions++
	b.counters.Lanes += uint64(len(lanes))
	issued := uint64((b.threads + warp - 1) / warp)
	if len(lanes) < b.threads {
		issued = 0
		warps(lanes, func([]int32) { issued++ })
	}
	b.counters.Issued += issued
	b.counters.Kinds[in.kind] += issued
	b.counters.Cycles += issued * uint64(in.cycles)
}

// countSectors counts an access to global memory.
func (b *block) countSectors(a *access, lanes []int32) {
	if b.counters == nil {
		return
	}
	at := b.row(a.base)
	warps(lanes, func(lanes []int32) {
		var touched [2 * warp]uint64
		sectors := touched[:0]
		for _, l := range lanes {
			first := at[l] + a.offset
			for s := first / 32; s <= (first+uint64(a.bytes())-1)/32; s++ {
				if n := len(sectors); n == 0 || sectors[n-1] != s {
					sectors = append(sectors, s)
				}
			}
		}
		slices.Sort(sectors)
		count := uint64(len(slices.Compact(sectors)))
		b.counters.Requests++
		b.counters.Sectors += count
		b.counters.Cycles += max(requestCycles, count*sectorCycles)
	})
}

// countWavefronts counts an access to shared memory: 32 banks of 4 bytes serve
// one word each at a time, to all who ask for it. An access of 8 or 16 bytes is
// as many requests, of a half or a quarter of the warp.
func (b *block) countWavefronts(a *access, lanes []int32) {
	if b.counters == nil {
		return
	}
	at, words := b.row(a.base), max(1, a.bytes()/4)
	warps(lanes, func(lanes []int32) {
		for part := range words {
			var words32 [32]map[uint64]bool
			most := 0
			for _, l := range lanes[part*len(lanes)/words : (part+1)*len(lanes)/words] {
				first := (at[l] + a.offset) / 4
				for w := first; w < first+uint64(words); w++ {
					bank := &words32[w%32]
					if *bank == nil {
						*bank = map[uint64]bool{}
					}
					(*bank)[w] = true
					most = max(most, len(*bank))
				}
			}
			b.counters.SharedRequests++
			b.counters.Wavefronts += uint64(most)
			b.counters.Cycles += uint64(most) * wavefrontCycles
		}
	})
}
