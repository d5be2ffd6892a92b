package ptx

import "strings"

// Costs are the cycles for which an instruction of a warp occupies one of the four schedulers of a
// multiprocessor of sm_90, with its quarter of the arithmetic units. They are the machine
// instructions that ptxas 12.9 generates for sm_90, each at the throughput that the CUDA C++
// Programming Guide gives for compute capability 9.0 ("Arithmetic Instructions"): for each cycle and
// multiprocessor 128 results of float32, 64 of float64 and of integers, 32 of shuffles, 16 of the
// special function unit and of conversions of 64 bits.
const (
	float32Cycles    = 1
	float64Cycles    = 2
	integerCycles    = 2 // of 32 bits
	specialCycles    = 8 // reciprocal, root, power, logarithm
	shuffleCycles    = 4
	conversionCycles = 8 // from or to 64 bits
	matrixCycles     = 8 // mma.sync, at half the peak rate of the tensor cores
	barrierCycles    = 10
	requestCycles    = 4 // an access of a warp to global memory, at least
	sectorCycles     = 2 // 32 bytes from the second-level cache, of 64 a cycle and multiprocessor
	wavefrontCycles  = 4 // a pass over the banks of shared memory
)

// costs are the cycles of opcodes that take several machine instructions, by their text without the
// modifiers that plain drops. Divisions by 64-bit integers call a subroutine.
var costs = map[string]int{
	"mul.s64": 4 * integerCycles, "mul.u64": 4 * integerCycles, "mad.s64": 5 * integerCycles, "mad.u64": 5 * integerCycles,
	"mul.hi.u64": 7 * integerCycles, "bfe.u32": 2 * integerCycles,
	"clz.b32": specialCycles + integerCycles, "popc.b32": specialCycles,

	"div.u16": 8*integerCycles + specialCycles, "div.s16": 10*integerCycles + specialCycles,
	"rem.u16": 9*integerCycles + specialCycles, "rem.s16": 11*integerCycles + specialCycles,
	"div.u32": 17*integerCycles + specialCycles, "div.s32": 20*integerCycles + specialCycles,
	"rem.u32": 16*integerCycles + specialCycles, "rem.s32": 19*integerCycles + specialCycles,
	"div.u64": 65*integerCycles + specialCycles + 2*conversionCycles, "div.s64": 81*integerCycles + specialCycles + 2*conversionCycles,
	"rem.u64": 61*integerCycles + specialCycles + 2*conversionCycles, "rem.s64": 75*integerCycles + specialCycles + 2*conversionCycles,

	"div.f32": 10*float32Cycles + specialCycles, "rcp.f32": 8*float32Cycles + specialCycles, "sqrt.f32": 8*float32Cycles + specialCycles,
	"ex2.f32": specialCycles, "lg2.f32": specialCycles, "cvt.rni.f32.f32": specialCycles,
	"div.f64": 12*float64Cycles + specialCycles, "rcp.f64": 10*float64Cycles + specialCycles, "sqrt.f64": 16*float64Cycles + specialCycles,
	"min.f64": 7 * float64Cycles, "max.f64": 7 * float64Cycles,
}

// cost returns the cycles of a statement, without the cycles of its memory accesses.
func (s *statement) cost() int {
	if n := len(s.args); n > 0 && (strings.HasPrefix(s.opcode, "shr.u64") || strings.HasPrefix(s.opcode, "shl.b64")) && s.args[n-1].words[0] == "32" {
		return 0 // a choice of registers
	}
	return costOf(s.opcode)
}

func costOf(opcode string) int {
	if cost, ok := costs[plain.Replace(opcode)]; ok {
		return cost
	}
	words := split(opcode)
	t := words[len(words)-1]
	wide := strings.HasSuffix(t, "64")
	switch words[0] {
	case "mov", "cvta", "membar", "ld", "st", "ldmatrix": // a choice of registers, or counted by requests
		return 0
	case "atom", "red":
		return warp * sectorCycles
	case "shfl":
		return shuffleCycles
	case "mma":
		return matrixCycles
	case "bar", "barrier":
		return barrierCycles
	case "cvt":
		return conversionCost(words[len(words)-2], t)
	case "mul": // mul.wide is one instruction
		wide = wide && t[0] == 'f'
	}
	switch {
	case t[0] == 'f' && wide:
		return float64Cycles
	case t[0] == 'f':
		return float32Cycles
	case wide:
		return 2 * integerCycles
	}
	return integerCycles
}

// conversionCost returns the cycles of a cvt. Between integers it is a choice of registers.
func conversionCost(to, from string) int {
	switch {
	case !strings.Contains(to, "f") && !strings.Contains(from, "f"):
		return 0
	case strings.HasSuffix(to, "64") || strings.HasSuffix(from, "64"):
		return conversionCycles
	}
	return integerCycles
}
