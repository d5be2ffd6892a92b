package kernels

// #include "loops.h"
import "C"

import (
	"math/bits"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// together is how many bytes a thread of a GPU loads or stores at once.
const together = 16

// divide notes in g what to divide by its sizes with: i/size is (i·magic/2⁶⁴ + i)/2^shift.
func divide(g *C.h5k_grid) {
	for axis, size := range g.shape[:g.rank] {
		shift := bits.Len64(uint64(size - 1))
		magic, _ := bits.Div64(1<<shift-uint64(size), 0, uint64(size))
		g.magic[axis], g.shift[axis] = C.uint64_t(magic+1), C.uint64_t(shift)
	}
}

// pack notes in g how many neighbours along its last axis a thread may take at
// once, and store at once in the first operand, and returns how many such packs
// there are. At most so many, or half as many and so on, are tried.
func pack(g *C.h5k_grid, most int, at starts, arrays ...*storage.Array) int64 {
	for ; most > 1; most /= 2 {
		g.rows = rows(g, most, at, arrays)
		if last := g.rank - 1; g.rows&1 != 0 && (last == 0 || int64(g.shape[last])%int64(most) == 0) {
			g.pack = C.uint32_t(most)
			break
		}
	}
	return (count(g) + int64(most) - 1) / int64(most)
}

// rows has a bit for each operand whose packs of so many elements lie in rows,
// which can be loaded together.
func rows(g *C.h5k_grid, most int, at starts, arrays []*storage.Array) (bits C.uint32_t) {
	last := int(g.rank) - 1
	for i, a := range arrays {
		size := uint64(a.Type.Size())
		unit := min(together, uint64(most)*size)
		odd := at[i]
		for _, stride := range g.stride[i][:last] {
			odd |= uint64(stride) * size
		}
		if g.stride[i][last] == 1 && odd%unit == 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// atOnce is how many elements of a type are loaded together.
func atOnce(t dtype.Type) int { return together / t.Size() }

// packed is how many elements the code for a type takes at once: the code that
// integers share, of any size four.
func packed(t dtype.Type) int {
	if _, own := kinds[t]; own {
		return atOnce(t)
	}
	return 4
}
