// Package ptx runs PTX, the assembly language of NVIDIA's GPUs, in Go, so that
// what ships for a GPU is tested on machines without one.
//
// It knows the part of the PTX ISA (version 7.0) that compiled kernels use, and
// refuses a module that uses more. One step of the interpreter is one
// instruction of all threads of a block that are at that instruction; those
// that are furthest behind go first, so that threads which part meet again.
//
// What would be undefined on a GPU is an error that names kernel, block,
// thread and instruction: addresses outside of memory, misaligned or freed,
// barriers and shuffles that not all threads reach, and reads and writes of
// shared memory that race. [Counters] count what would make it slow there.
//
// It says nothing about time, and nothing about races between blocks.
package ptx

// A Module is PTX text that has been understood.
type Module struct {
	Version, Target string // "7.0", "sm_80"
	Kernels         map[string]*Kernel
}

// A Kernel is one entry of a module.
type Kernel struct {
	Name    string
	Params  []Param
	Shared  int // bytes of shared memory that it declares
	Threads int // the most threads that a block may have; 0 if it does not say

	params    int // bytes of all parameters
	code      []instruction
	registers int
	constants map[uint64]int  // registers that hold a number
	specials  map[special]int // registers that the launch sets
	dynamic   int             // the register of where launched shared memory starts, or 0
}

// A Param is where a parameter lies among all parameters of a launch.
type Param struct{ Offset, Size int }

// ParamBytes returns the size of all parameters together.
func (k *Kernel) ParamBytes() int { return k.params }

// A special is a register that tells a thread who it is: kind is "tid", "ntid",
// "ctaid" or "nctaid".
type special struct {
	kind string
	axis int
}

// An instruction is one step: run is nil where control flow does the work.
type instruction struct {
	run     func(b *block, lanes []int32)
	flow    flow
	kind    Kind
	guard   int // the register of its predicate; 0 if it has none
	negated bool
	target  int // of a branch
	text    string
}

// A flow is what an instruction does to where a thread goes on.
type flow uint8

const (
	straight   flow = iota
	convergent      // whole warps only
	branch
	barrier
	exit
)
