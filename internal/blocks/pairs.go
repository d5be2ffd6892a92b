package blocks

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// StorageOrder returns the axes of a view from the largest stride to the smallest: the order in
// which its elements are read once, from the first to the last.
func StorageOrder(v views.View) []int {
	order := make([]int, v.Rank())
	for axis := range order {
		order[axis] = axis
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(abs(v.Stride[k]), abs(v.Stride[i])) })
	return order
}

func abs(n int) int { return max(n, -n) }

// Permuted returns an array with its axes in another order.
func Permuted(a storage.Array, order []int) storage.Array {
	v, err := a.View.Transpose(order...)
	if err != nil {
		panic(err) // the order has each axis once
	}
	return a.With(v)
}

// A Pair is the same part of two arrays of one shape.
type Pair struct {
	A, B         storage.Array
	FillA, FillB []byte // what all elements of A and of B are, if none of either was ever written
}

// Unwritten reports whether the elements need not be read: those of A and B are FillA and FillB.
func (p Pair) Unwritten() bool { return p.FillA != nil && p.FillB != nil }

// pairSize is the number of elements of a Pair that is not divided further.
const pairSize = 1 << 24

// Pairs divides two arrays of one shape into pairs, in row-major order: into few large ones
// where nothing was ever written to either array. Arrays that are stored whole are one pair.
// It stops with an error when ctx is done.
func Pairs(ctx context.Context, a, b storage.Array) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		_, filledA := a.Data.(storage.Filled)
		_, filledB := b.Data.(storage.Filled)
		if !filledA || !filledB {
			yield(Pair{A: a, B: b}, ctx.Err())
			return
		}
		pairs(ctx, a, b, yield)
	}
}

// pairs yields the pairs of a and b, and reports whether to continue.
func pairs(ctx context.Context, a, b storage.Array, yield func(Pair, error) bool) bool {
	p := Pair{A: a, B: b}
	if err := ctx.Err(); err != nil {
		yield(p, err)
		return false
	}
	fillA, unwrittenA := storage.Unwritten(a)
	fillB, unwrittenB := storage.Unwritten(b)
	if unwrittenA && unwrittenB {
		p.FillA, p.FillB = fillA, fillB
	}
	if p.Unwritten() || a.Len() <= pairSize {
		return yield(p, nil)
	}
	axis := 0
	for a.Shape[axis] == 1 {
		axis++
	}
	half := a.Shape[axis] / 2
	if rows := max(blockRows(a, axis, half), blockRows(b, axis, half)); rows > 0 {
		half = rows
	}
	for _, part := range [][2]int{{0, half}, {half, a.Shape[axis]}} {
		if !pairs(ctx, a.With(a.View.Narrow(axis, part[0], part[1])), b.With(b.View.Narrow(axis, part[0], part[1])), yield) {
			return false
		}
	}
	return true
}
