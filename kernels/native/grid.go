package native

// #include "loops.h"
import "C"

import (
	"unsafe"

	"github.com/h5dnn/h5dnn/views"
)

// The limits of a grid.
const (
	Rank     = C.H5K_RANK     // axes
	Operands = C.H5K_OPERANDS // arrays
)

// Axes are the axes of up to four equally shaped arrays: h5k_grid of loops.h, field by
// field. Strides count elements.
type Axes struct {
	Rank         int64 // at least 1
	Shape        [Rank]int64
	Stride       [Operands][Rank]int64
	Magic, Shift [Rank]uint64 // for GPUs, like Pack and Rows: see package launch
	Pack, Rows   uint32
}

var _ [unsafe.Sizeof(C.h5k_grid{})]byte = [unsafe.Sizeof(Axes{})]byte{}

func (a *Axes) c() *C.h5k_grid { return (*C.h5k_grid)(unsafe.Pointer(a)) }

// Count returns the number of elements.
func (a *Axes) Count() int64 {
	n := int64(1)
	for _, size := range a.Shape[:a.Rank] {
		n *= size
	}
	return n
}

// A Grid describes up to four equally shaped arrays with as few axes as possible, by
// value and without allocating. The first array is visited in memory order, forwards.
type Grid struct {
	Axes
	First [Operands]int // the position of each array's first element
	Empty bool
}

// Over lays g over views of one shape. It reports false if more than Rank axes remain.
func (g *Grid) Over(vs ...*views.View) bool { return g.Along(^uint64(0), vs...) }

// Along is Over for the axes whose bits are set.
func (g *Grid) Along(axes uint64, vs ...*views.View) bool {
	lead := vs[0]
	var order [Rank]int
	rank := 0
	for axis, size := range lead.Shape {
		switch {
		case axis < 64 && axes>>axis&1 == 0:
			continue
		case size == 0:
			g.Empty = true
			return true
		case size == 1:
			continue
		case rank == len(order):
			return false
		}
		k := rank
		for ; k > 0 && magnitude(lead.Stride[order[k-1]]) < magnitude(lead.Stride[axis]); k-- {
			order[k] = order[k-1]
		}
		order[k] = axis
		rank++
	}
	for i, v := range vs {
		g.First[i] = v.Offset
	}
	for _, axis := range order[:rank] {
		g.add(vs, axis)
	}
	if g.Rank == 0 { // a single element
		g.Rank, g.Shape[0] = 1, 1
		for i := range vs {
			g.Stride[i][0] = 1
		}
	}
	return true
}

func magnitude(n int) int { return max(n, -n) }

// add appends axis to g, or merges it with the last one.
func (g *Grid) add(vs []*views.View, axis int) {
	size, flip := vs[0].Shape[axis], vs[0].Stride[axis] < 0
	last := int(g.Rank) - 1
	merges := last >= 0
	var step [Operands]int
	for i, v := range vs {
		step[i] = v.Stride[axis]
		if flip {
			g.First[i] += (size - 1) * step[i]
			step[i] = -step[i]
		}
		merges = merges && int(g.Stride[i][last]) == size*step[i]
	}
	if merges {
		g.Shape[last] *= int64(size)
	} else {
		last++
		g.Rank++
		g.Shape[last] = int64(size)
	}
	for i := range vs {
		g.Stride[i][last] = int64(step[i])
	}
}

// Flat lays g over views if they are contiguous elements in the same order, and returns
// the number of elements; or it reports false.
func (g *Grid) Flat(vs ...*views.View) (n int64, ok bool) {
	if !g.Over(vs...) || g.Empty || g.Rank != 1 {
		return 0, g.Empty
	}
	for i := range vs {
		if g.Stride[i][0] != 1 && g.Shape[0] != 1 {
			return 0, false
		}
	}
	return g.Shape[0], true
}
