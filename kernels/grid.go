package kernels

// #include "loops.h"
import "C"

import (
	"unsafe"

	"github.com/h5dnn/h5dnn/storage"
)

// A grid is what C walks: the fewest axes that describe up to four equally
// shaped arrays, by value and without allocating, and where each array starts.
// The first array is walked in memory order and forwards.
type grid struct {
	C     C.h5k_grid
	first [C.H5K_OPERANDS]int
	empty bool
}

// over lays g over arrays, which have one shape. It reports false if more axes
// remain than C takes.
func (g *grid) over(arrays ...*storage.Array) bool { return g.along(^uint64(0), arrays...) }

// along is over, but for some axes only, those whose bits are set.
func (g *grid) along(axes uint64, arrays ...*storage.Array) bool {
	lead := &arrays[0].View
	var order [C.H5K_RANK]int
	rank := 0
	for axis, size := range lead.Shape {
		switch {
		case axis < 64 && axes>>axis&1 == 0:
			continue
		case size == 0:
			g.empty = true
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
	for i, a := range arrays {
		g.first[i] = a.Offset
	}
	for _, axis := range order[:rank] {
		g.add(arrays, axis)
	}
	if g.C.rank == 0 { // a single element
		g.C.rank, g.C.shape[0] = 1, 1
		for i := range arrays {
			g.C.stride[i][0] = 1
		}
	}
	return true
}

// add appends axis to g, or joins it to the last one.
func (g *grid) add(arrays []*storage.Array, axis int) {
	size, flip := arrays[0].Shape[axis], arrays[0].Stride[axis] < 0
	last := int(g.C.rank) - 1
	joins := last >= 0
	var step [C.H5K_OPERANDS]int
	for i, a := range arrays {
		step[i] = a.Stride[axis]
		if flip {
			g.first[i] += (size - 1) * step[i]
			step[i] = -step[i]
		}
		joins = joins && int(g.C.stride[i][last]) == size*step[i]
	}
	if joins {
		g.C.shape[last] *= C.int64_t(size)
	} else {
		last++
		g.C.rank++
		g.C.shape[last] = C.int64_t(size)
	}
	for i := range arrays {
		g.C.stride[i][last] = C.int64_t(step[i])
	}
}

// at returns where operand i's walk starts.
func (g *grid) at(i int, a *storage.Array) unsafe.Pointer {
	return unsafe.Pointer(&a.Data.(storage.Host).Bytes()[g.first[i]*a.Type.Size()])
}

// first returns where the first element of an array that is not empty lies.
func first(a *storage.Array) unsafe.Pointer {
	return unsafe.Pointer(&a.Data.(storage.Host).Bytes()[a.Offset*a.Type.Size()])
}

// flat lays g over arrays if they are adjacent elements in the same order, all
// of them, and returns how many; or it reports false.
func (g *grid) flat(arrays ...*storage.Array) (C.int64_t, bool) {
	if !g.over(arrays...) || g.empty || g.C.rank != 1 {
		return 0, g.empty
	}
	for i := range arrays {
		if g.C.stride[i][0] != 1 && g.C.shape[0] != 1 {
			return 0, false
		}
	}
	return g.C.shape[0], true
}
