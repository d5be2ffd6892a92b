package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Tile returns x repeated along each axis as often as repeats says for it. The shorter of the shape and repeats is
// extended by ones at the front, as by NumPy.
func (x *Tensor) Tile(repeats ...int) *Tensor {
	for x.Rank() < len(repeats) {
		x = x.Unsqueeze(0)
	}
	repeats = append(slices.Repeat([]int{1}, x.Rank()-len(repeats)), repeats...)
	var wide, joined []int
	for axis, n := range repeats {
		if n < 0 {
			fail("tile", ErrShape, "%d times along axis %d", n, axis)
		}
		x = x.Unsqueeze(2 * axis)
		wide, joined = append(wide, n, x.Shape()[2*axis+1]), append(joined, n*x.Shape()[2*axis+1])
	}
	return x.Expand(wide...).Reshape(joined...)
}

// Repeat is Tile with a number for every axis, and more for new axes at the front: PyTorch's repeat. NumPy's is
// [Tensor.RepeatInterleave].
func (x *Tensor) Repeat(repeats ...int) *Tensor {
	if len(repeats) < x.Rank() {
		fail("repeat", ErrShape, "%v times for %v; want a number for every axis", repeats, x.Shape())
	}
	return x.Tile(repeats...)
}

// RepeatInterleave returns x with each element along axis repeated, next to itself: as often as repeats says for it, or
// all as often as its only number says.
func (x *Tensor) RepeatInterleave(axis int, repeats ...int) *Tensor {
	axis = x.axis("repeat interleave", axis)
	n := x.Shape()[axis]
	if len(repeats) != 1 && len(repeats) != n || slices.ContainsFunc(repeats, func(k int) bool { return k < 0 }) {
		fail("repeat interleave", ErrShape, "%v times for %d elements; want one number, or one for each", repeats, n)
	}
	if len(repeats) == 1 {
		shape := slices.Insert(slices.Clone(x.Shape()), axis+1, repeats[0])
		return x.Unsqueeze(axis + 1).Expand(shape...).Reshape(slices.Replace(shape, axis, axis+2, n*repeats[0])...)
	}
	var index []int64
	for i, k := range repeats {
		index = append(index, slices.Repeat([]int64{int64(i)}, k)...)
	}
	return x.selectRows(axis, index)
}

// selectRows is IndexSelect of indices on the host.
func (x *Tensor) selectRows(axis int, index []int64) *Tensor {
	return x.IndexSelect(axis, x.onDevice(storage.From(index, len(index))))
}

// Roll returns x with its elements moved by shift places along axis, those that leave it coming back at its other end.
func (x *Tensor) Roll(axis, shift int) *Tensor {
	axis = x.axis("roll", axis)
	n := x.Shape()[axis]
	if n == 0 || shift%n == 0 {
		return x
	}
	parts := x.Split(axis, n-(shift%n+n)%n, (shift%n+n)%n)
	return Cat(axis, parts[1], parts[0])
}

// Rot90 returns x turned k times by 90 degrees, from axis a towards axis b, sharing x's memory.
func (x *Tensor) Rot90(k, a, b int) *Tensor {
	a, b = x.axis("rot90", a), x.axis("rot90", b)
	if a == b {
		fail("rot90", ErrShape, "axis %d twice", a)
	}
	switch k & 3 {
	case 1:
		return x.Flip(b).Transpose(a, b)
	case 2:
		return x.Flip(a, b)
	case 3:
		return x.Transpose(a, b).Flip(b)
	}
	return x
}

// Tril returns x with zeros above a diagonal of its last two axes: the main one, if diagonal is 0, or one that many
// places above it.
func (x *Tensor) Tril(diagonal int) *Tensor { return x.triangle("tril", diagonal, (*Tensor).Ge) }

// Triu returns x with zeros below a diagonal of its last two axes, which Tril describes.
func (x *Tensor) Triu(diagonal int) *Tensor { return x.triangle("triu", diagonal, (*Tensor).Le) }

func (x *Tensor) triangle(act string, diagonal int, keeps func(row, column *Tensor) *Tensor) *Tensor {
	if x.Rank() < 2 {
		fail(act, ErrShape, "of %v; want at least two axes", x.Shape())
	}
	rows, columns := x.Shape()[x.Rank()-2], x.Shape()[x.Rank()-1]
	row := x.onDevice(arange(rows)).Unsqueeze(1).AddScalar(diagonal)
	return Where(keeps(row, x.onDevice(arange(columns))), x, x.constant(0))
}

// Meshgrid returns the coordinates xs, of one axis each, repeated along the axes of the others, sharing their memory:
// the k-th result varies along axis k. PyTorch's and NumPy's indexing "ij".
func Meshgrid(xs ...*Tensor) []*Tensor {
	checkGiven("meshgrid", xs...)
	shape := make([]int, len(xs))
	for k, x := range xs {
		if x.Rank() > 1 {
			fail("meshgrid", ErrShape, "of %v; want one axis", x.Shape())
		}
		shape[k] = x.Len()
	}
	grids := make([]*Tensor, len(xs))
	for k, x := range xs {
		column := slices.Repeat([]int{1}, len(xs))
		column[k] = x.Len()
		grids[k] = x.Reshape(column...).Expand(shape...)
	}
	return grids
}

var (
	_ = samples.Register("tile", unary(func(x *Tensor) *Tensor { return x.Tile(2, 1, 3) }), samples.In(2, 3))
	_ = samples.Register("tile 2", unary(func(x *Tensor) *Tensor { return x.Tile(2) }), samples.In(2, 3).Rows())
	_ = samples.Register("repeat", unary(func(x *Tensor) *Tensor { return x.Repeat(3, 2) }), samples.In(2, 3).Rows())
	_ = samples.Register("repeat interleave", unary(func(x *Tensor) *Tensor { return x.RepeatInterleave(-1, 3) }), samples.In(2, 3).Rows())
	_ = samples.Register("repeat interleave each", unary(func(x *Tensor) *Tensor { return x.RepeatInterleave(1, 2, 0, 3) }), samples.In(2, 3).Rows())
	_ = samples.Register("roll", unary(func(x *Tensor) *Tensor { return x.Roll(1, -2) }), samples.In(2, 5).Rows())
	_ = samples.Register("rot90", unary(func(x *Tensor) *Tensor { return x.Rot90(1, 0, 1).Mul(x.Rot90(-3, 0, 1)) }), samples.In(2, 3).Rows())
	_ = samples.Register("rot90 3", unary(func(x *Tensor) *Tensor { return x.Rot90(3, -2, -1) }), samples.In(2, 2, 3).Rows())
	_ = samples.Register("tril", unary(func(x *Tensor) *Tensor { return x.Tril(1) }), samples.In(2, 4, 3).Rows())
	_ = samples.Register("triu", unary(func(x *Tensor) *Tensor { return x.Triu(0) }), samples.In(4, 5))
	_ = samples.Register("meshgrid", func(in ...*Tensor) *Tensor { g := Meshgrid(in...); return g[0].Mul(g[1]) }, samples.In(3), samples.In(4))
)
