package views

import (
	"iter"
	"slices"
)

// A Box is a part of a shape: along axis k, Count[k] indices from Start[k] on, Step[k] apart.
type Box struct{ Start, Count, Step []int }

// Of returns the part of a view of that shape.
func (b Box) Of(v View) View {
	part := View{Offset: v.Offset, Shape: slices.Clone(b.Count), Stride: slices.Clone(v.Stride)}
	for axis, start := range b.Start {
		part.Offset += start * v.Stride[axis]
		part.Stride[axis] *= b.Step[axis]
	}
	return part
}

// Between returns the part of b whose indices along axis are from lo to hi-1, counted from
// lo on, and which of b's own indices these are.
func (b Box) Between(axis, lo, hi int) (part Box, first, end int) {
	start, step := b.Start[axis], b.Step[axis]
	before := func(limit int) int { return min(b.Count[axis], max(0, (limit-start+step-1)/step)) }
	first, end = before(lo), before(hi)
	part = Box{slices.Clone(b.Start), slices.Clone(b.Count), b.Step}
	part.Start[axis], part.Count[axis] = start+first*step-lo, end-first
	return part, first, end
}

// Boxes divides a view over the row-major positions of a shape into boxes of that shape. It
// yields each with the part of to, a view of v's shape, that has the same elements and the axes
// of the shape. A view whose axes are those of the shape, in any order, is one box.
func Boxes(v, to View, shape []int) iter.Seq2[View, Box] {
	return func(yield func(View, Box) bool) {
		if v.Len() > 0 {
			divide(v, to, Of(shape...), yield)
		}
	}
}

// divide yields the boxes of v, which is not empty, and reports whether to continue.
func divide(v, to, whole View, yield func(View, Box) bool) bool {
	rank := whole.Rank()
	ones := slices.Repeat([]int{1}, rank)
	box := Box{coordinatesOf(v.Offset, whole), ones, slices.Clone(ones)}
	part := View{Offset: to.Offset, Shape: ones, Stride: make([]int, rank)}
	for axis, n := range v.Shape {
		stride := v.Stride[axis]
		switch {
		case n == 1:
			continue
		case stride < 0:
			return divide(reversed(v, axis), reversed(to, axis), whole, yield)
		}
		k := slices.IndexFunc(whole.Stride, func(s int) bool { return s <= stride })
		if stride == 0 || k < 0 || stride%whole.Stride[k] != 0 || box.Count[k] > 1 {
			return divideAt(v, to, whole, axis, 1, yield)
		}
		step := stride / whole.Stride[k]
		inside := (whole.Shape[k]-1-box.Start[k])/step + 1 // indices before the end of axis k
		switch rest := n % inside; {
		case n <= inside:
		case whole.Shape[k]%step != 0: // rows begin at several indices
			return divideAt(v, to, whole, axis, max(inside, n/2), yield)
		case box.Start[k] >= step:
			return divideAt(v, to, whole, axis, inside, yield)
		case rest > 0:
			return divideAt(v, to, whole, axis, n-rest, yield)
		default:
			return divide(fold(v, axis, inside), fold(to, axis, inside), whole, yield)
		}
		box.Count[k], box.Step[k], part.Stride[k] = n, step, to.Stride[axis]
	}
	return yield(part, box)
}

// divideAt divides the first n indices of an axis, and then the others.
func divideAt(v, to, whole View, axis, n int, yield func(View, Box) bool) bool {
	for start, size := 0, v.Shape[axis]; start < size; {
		end := min(start+n, size)
		if start > 0 && n > 1 {
			end = size
		}
		if !divide(v.Narrow(axis, start, end), to.Narrow(axis, start, end), whole, yield) {
			return false
		}
		start = end
	}
	return true
}

// coordinatesOf returns the indices of a row-major position.
func coordinatesOf(position int, whole View) []int {
	at := make([]int, whole.Rank())
	for axis, stride := range whole.Stride {
		if n := whole.Shape[axis]; n > 1 {
			at[axis] = position / stride % n
		}
	}
	return at
}

// reversed reverses an axis.
func reversed(v View, axis int) View {
	w, err := v.Flip(axis)
	if err != nil {
		panic(err) // the axis exists
	}
	return w
}

// fold divides an axis, whose size is a multiple of n, into two, of which the second has n
// indices.
func fold(v View, axis, n int) View {
	return View{
		Offset: v.Offset,
		Shape:  slices.Replace(slices.Clone(v.Shape), axis, axis+1, v.Shape[axis]/n, n),
		Stride: slices.Replace(slices.Clone(v.Stride), axis, axis+1, v.Stride[axis]*n, v.Stride[axis]),
	}
}
