package tensor

import (
	"slices"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/storage"
)

// A node is one recorded operation.
type node struct {
	op       Op
	in, out  []*Tensor
	order    uint64 // operations recorded later have a larger one
	version  uint64 // of the storages that its Backward reads, when it was computed
	saved    []*block
	consumed int32  // how many recorded operations have one of out as an operand
	released bool   // whether a backward pass has released what Backward needs
	at       string // where it was called, for DetectAnomaly
}

var recorded atomic.Uint64

// A mode is how the result of an operation is to be treated, which follows from its
// operands and their step.
type mode struct {
	tape         *Tape
	requiresGrad bool
	noGrad       bool // of the results too
	quiet        bool // nothing is recorded now
	backward     bool
}

// modeOf returns the mode of a result computed from in, in the step of tape if in
// belongs to none. It fails if the memory of an operand is in use for something else,
// or if op does not handle its format.
func modeOf(act string, op any, tape *Tape, in []*Tensor) mode {
	m := mode{tape: tape}
	saved, recorded := false, false
	checkGiven(act, in...)
	for _, x := range in {
		x.checkAlive(act)
		x.checkFormat(act, op)
		m.requiresGrad = m.requiresGrad || x.requiresGrad
		m.noGrad = m.noGrad || x.noGrad
		m.backward = m.backward || x.backward
		saved, recorded = saved || x.saved, recorded || x.backward && !x.noGrad
		if x.tape != nil {
			m.tape = x.tape
		}
	}
	m.quiet = m.tape != nil && m.tape.noGrad || inNoGrad()
	if saved && recorded {
		panic(&Error{act, errNotDifferentiable})
	}
	return m
}

// checkGiven fails if an operand is nil.
func checkGiven(act string, in ...*Tensor) {
	if i := slices.Index(in, nil); i >= 0 {
		fail(act, ErrState, "operand %d is nil", i)
	}
}

// records reports whether results of float type are recorded.
func (m mode) records() bool { return m.requiresGrad && !m.noGrad && !m.quiet }

// results returns n tensors without values.
func (m mode) results(n int) []*Tensor {
	made := make([]struct {
		Tensor
		self [1]*Tensor
	}, n)
	for i := range made {
		made[i].noGrad, made[i].backward, made[i].tape = m.noGrad, m.backward, m.tape
	}
	if n == 1 {
		made[0].self[0] = &made[0].Tensor
		return made[0].self[:]
	}
	out := make([]*Tensor, n)
	for i := range made {
		out[i] = &made[i].Tensor
	}
	return out
}

// record remembers that out are the results of op on in, if a gradient may be asked
// for. Blocks taken since first are those that op saved.
func (m mode) record(op Op, in, out []*Tensor, first int) {
	if !m.records() {
		return
	}
	var n *node
	for _, y := range out {
		if hasGradient(y.DType()) {
			if n == nil {
				n = &node{op: op, in: in, out: out, order: recorded.Add(1)}
				n.version = n.currentVersion()
			}
			y.requiresGrad, y.node = true, n
		}
	}
	if n == nil {
		return
	}
	if detecting() {
		n.at = caller()
	}
	for _, x := range in {
		x.block.use()
		if x.node != nil {
			x.node.consumed++
		}
	}
	for _, y := range out {
		y.block.use()
		if y.node != nil && y.block != nil {
			y.block.freeable = true
		}
	}
	if m.tape != nil {
		n.saved = m.tape.used[first:]
		for _, b := range n.saved {
			b.use()
			b.freeable = true
		}
	}
}

// use counts a use of b, which may be nil.
func (b *block) use() {
	if b != nil {
		b.uses++
	}
}

// A reader is an operation whose Backward does not read all values: it reads the operands
// whose bits are set, and of the results if results is true. Others may be written to in
// place before the backward pass.
type reader interface {
	reads(in []*Tensor) (operands uint64, results bool)
}

// reads says which values the Backward of n reads: all of them unless its operation is a reader.
func (n *node) reads() (operands uint64, results bool) {
	if r, ok := n.op.(reader); ok {
		return r.reads(n.in)
	}
	return ^uint64(0), true
}

// currentVersion adds up the version counts of the storages that the Backward of n reads.
// Counts only grow, so the sum stays equal if and only if nothing is written to them.
func (n *node) currentVersion() uint64 {
	operands, results := n.reads()
	sum := uint64(0)
	for _, y := range n.out {
		if results {
			sum += versionOf(y)
		}
	}
	for i, x := range n.in {
		if i >= 64 || operands&(1<<i) != 0 {
			sum += versionOf(x)
		}
	}
	return sum
}

// operands returns the operands of n, as they were before any later operation in place.
func (n *node) operands() []*Tensor {
	for i, x := range n.in {
		if was := x.at(n.order); was != x {
			n.in = slices.Clone(n.in)
			n.in[i] = was
		}
	}
	return n.in
}

func versionOf(x *Tensor) uint64 {
	if v, ok := x.array.Data.(storage.Versioned); ok {
		return v.Version()
	}
	return 0
}
