package launch

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// packBytes is how many bytes a thread loads or stores at once.
const packBytes = 16

// A Divisor is Divisor of grid.cuh: i/size is (i·Magic/2³² + i)/2^Shift for i below 2³¹.
type Divisor struct{ Magic, Shift uint32 }

// DivideBy returns the constants for dividing by a size, 1 to 2³¹.
func DivideBy(size int64) Divisor {
	shift := bits.Len64(uint64(size - 1))
	return Divisor{uint32((1<<shift-uint64(size))<<32/uint64(size)) + 1, uint32(shift)}
}

// A LongDivisor is LongDivisor of grid.cuh: i/size is (i·Magic/2⁶⁴ + i)/2^Shift for i below 2⁶³.
type LongDivisor struct{ Magic, Shift uint64 }

// LongDivideBy returns the constants for dividing by a positive size.
func LongDivideBy(size int64) LongDivisor {
	shift := bits.Len64(uint64(size - 1))
	magic, _ := bits.Div64(1<<shift-uint64(size), 0, uint64(size))
	return LongDivisor{magic + 1, uint64(shift)}
}

// Divide sets g's constants for dividing by its sizes.
func Divide(g *native.Axes) {
	for axis, size := range g.Shape[:g.Rank] {
		by := LongDivideBy(size)
		g.Magic[axis], g.Shift[axis] = by.Magic, by.Shift
	}
}

// Group makes groups of count adjacent elements of an operand the units of g. It returns the
// distance of a group's elements in each operand, or reports false if there are no such groups
// at positions that are multiples of their size, counted from a first position.
func Group(g *native.Axes, operand, count int, first int64) (steps [native.Operands]int64, ok bool) {
	axis := -1
	odd := first
	for i := range int(g.Rank) {
		if g.Stride[operand][i] == 1 && g.Shape[i]%int64(count) == 0 {
			axis = i
		} else if g.Shape[i] > 1 {
			odd |= g.Stride[operand][i]
		}
	}
	if axis < 0 || odd%int64(count) != 0 {
		return steps, false
	}
	g.Shape[axis] /= int64(count)
	for k := range steps {
		steps[k] = g.Stride[k][axis]
		g.Stride[k][axis] *= int64(count)
	}
	Divide(g)
	return steps, true
}

// Pack sets in g the number of neighbours along its last axis that a thread loads at once, and
// stores at once in the first operand: most, or most/2 and so on. It returns the number of such
// packs.
func Pack(g *native.Axes, most int, at Addresses, arrays ...*storage.Array) int64 {
	for ; most > 1; most /= 2 {
		g.Rows = Rows(g, most, at, arrays...)
		if last := g.Rank - 1; g.Rows&1 != 0 && (last == 0 || g.Shape[last]%int64(most) == 0) {
			g.Pack = uint32(most)
			break
		}
	}
	return (g.Count() + int64(most) - 1) / int64(most)
}

// Rows has a bit for each operand whose packs of most elements are contiguous and
// aligned, so that they can be loaded at once.
func Rows(g *native.Axes, most int, at Addresses, arrays ...*storage.Array) (bits uint32) {
	last := int(g.Rank) - 1
	for i, a := range arrays {
		size := uint64(a.Type.Size())
		unit := min(packBytes, uint64(most)*size)
		odd := at[i]
		for _, stride := range g.Stride[i][:last] {
			odd |= uint64(stride) * size
		}
		if g.Stride[i][last] == 1 && odd%unit == 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// PackOf is how many elements of a type are loaded at once.
func PackOf(t dtype.Type) int { return packBytes / t.Size() }

// PackOfEntry is how many elements the entry for a type takes at once. The entry that
// integers share takes four of any size.
func PackOfEntry(t dtype.Type) int {
	if _, own := suffixes[t]; own {
		return PackOf(t)
	}
	return 4
}

// Entry names the device code of a kernel for elements of type t, which the kernel's
// check has allowed. All integers but uint64 share theirs.
func Entry(name string, t dtype.Type) string {
	suffix, ok := suffixes[t]
	if !ok {
		suffix = "_i64"
	}
	return strings.ReplaceAll(name, " ", "_") + suffix
}

var suffixes = map[dtype.Type]string{
	dtype.Float16: "_f16", dtype.BFloat16: "_bf16", dtype.Float32: "_f32", dtype.Float64: "_f64", dtype.Uint64: "_u64",
}

// SizeEntry names the device code of a kernel that only moves elements, of a's size.
func SizeEntry(name string, a *storage.Array) string {
	return fmt.Sprintf("%s_%d", name, a.Type.Size())
}
