// Package ptx interprets PTX, the assembly language of NVIDIA's GPUs, in Go, so that
// compiled kernels are tested on machines without a GPU.
//
// It implements the part of the PTX ISA (version 7.0) that compiled kernels use, and
// rejects modules that use more. One step of the interpreter executes one instruction of
// all threads of a block that have reached it. Threads at the lowest instruction run
// first, so that diverged threads reconverge.
//
// Undefined behaviour is an error that names the kernel, block, thread and instruction:
// addresses out of bounds, misaligned or freed, barriers and shuffles that not all
// threads reach, and data races in shared memory. [Counters] count what makes a kernel
// slow on a GPU, by a model of what each instruction and each access costs an sm_90.
//
// It does not simulate latencies and caches, and does not find races between blocks.
package ptx

import "sync"

// A Module is parsed PTX.
type Module struct {
	Version, Target string // "7.0", "sm_80"
	Kernels         map[string]*Kernel
}

// A Kernel is one entry of a module.
type Kernel struct {
	Name    string
	Params  []Param
	Shared  int // bytes of static shared memory
	Threads int // the maximum number of threads in a block; 0 if not declared

	params    int // bytes of all parameters
	code      []instruction
	registers int
	constants map[uint64]int  // registers that hold constants
	specials  map[special]int // registers that the launch configuration sets
	dynamic   int             // the register of the address of dynamic shared memory, or 0
	idle      sync.Pool       // of blocks
}

// A Param is the place of a parameter in the parameter buffer.
type Param struct{ Offset, Size int }

// ParamBytes returns the size of all parameters together.
func (k *Kernel) ParamBytes() int { return k.params }

// A special is a special register: kind is "tid", "ntid", "ctaid" or "nctaid".
type special struct {
	kind string
	axis int
}

// An instruction is one step; run is nil for control flow.
type instruction struct {
	run     func(b *block, lanes []int32)
	flow    flow
	kind    Kind
	cycles  uint16 // see cost.go
	guard   int    // the register of its predicate; 0 if it has none
	negated bool
	target  int // of a branch
	text    string
}

// A flow is an instruction's effect on control flow.
type flow uint8

const (
	straight   flow = iota
	convergent      // whole warps only
	branch
	barrier
	exit
)
