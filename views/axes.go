package views

import (
	"fmt"
	"math/bits"
	"slices"
)

// Axis returns the axis that a negative number counts from the end of rank axes.
func Axis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("axis %d of %d: %w", axis, rank, ErrShape)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// Slice selects the elements start, start+step, … before stop along axis. As in
// NumPy, negative bounds count from the end, and bounds outside are clipped.
func (v View) Slice(axis, start, stop, step int) (View, error) {
	axis, err := Axis(axis, v.Rank())
	if err != nil {
		return View{}, fmt.Errorf("slice: %w", err)
	}
	if step == 0 {
		return View{}, fmt.Errorf("slice: step 0: %w", ErrShape)
	}
	w := v.clone()
	w.slice(axis, item{kind: rangeItem, start: start, stop: stop, step: step, hasStart: true, hasStop: true})
	return w, nil
}

// Narrow selects the elements from start to stop of an axis. It panics if there is no such axis.
func (v View) Narrow(axis, start, stop int) View {
	w, err := v.Slice(axis, start, stop, 1)
	if err != nil {
		panic(err)
	}
	return w
}

// slice narrows axis in place.
func (v *View) slice(axis int, i item) {
	start, n := i.of(v.Shape[axis])
	v.Shape[axis] = n
	if n > 0 {
		v.Offset += start * v.Stride[axis]
	}
	if n > 1 { // otherwise the stride is irrelevant, and could overflow
		v.Stride[axis] *= i.step
	}
}

// Select selects element i of axis, counted from the end if negative, and drops the axis.
func (v View) Select(axis, i int) (View, error) {
	axis, err := Axis(axis, v.Rank())
	if err != nil {
		return View{}, fmt.Errorf("select: %w", err)
	}
	at, err := element(i, axis, v.Shape[axis])
	if err != nil {
		return View{}, fmt.Errorf("select: %w", err)
	}
	w := v.without(axis)
	w.Offset += at * v.Stride[axis]
	return w, nil
}

// element returns index i of an axis, counted from the end if negative.
func element(i, axis, size int) (int, error) {
	if i < -size || i >= size {
		return 0, fmt.Errorf("index %d is outside axis %d of size %d: %w", i, axis, size, ErrShape)
	}
	if i < 0 {
		i += size
	}
	return i, nil
}

// without returns v without the given axes.
func (v View) without(axes ...int) View {
	w := blank(v.Rank() - len(axes))
	w.Offset = v.Offset
	k := 0
	for axis, size := range v.Shape {
		if !slices.Contains(axes, axis) {
			w.Shape[k], w.Stride[k] = size, v.Stride[axis]
			k++
		}
	}
	return w
}

// with returns v with a new axis before axis at.
func (v View) with(at, size, stride int) View {
	w := blank(v.Rank() + 1)
	w.Offset = v.Offset
	copy(w.Shape, v.Shape[:at])
	copy(w.Stride, v.Stride[:at])
	w.Shape[at], w.Stride[at] = size, stride
	copy(w.Shape[at+1:], v.Shape[at:])
	copy(w.Stride[at+1:], v.Stride[at:])
	return w
}

// Flip reverses the order of elements along the given axes.
func (v View) Flip(axes ...int) (View, error) {
	w := v.clone()
	for i, axis := range axes {
		axis, err := Axis(axis, v.Rank())
		if err != nil {
			return View{}, fmt.Errorf("flip: %w", err)
		}
		if slices.Contains(axes[:i], axis) || slices.Contains(axes[:i], axis-v.Rank()) {
			return View{}, fmt.Errorf("flip: axis %d twice in %v: %w", axis, axes, ErrShape)
		}
		w.Offset += max(0, v.Shape[axis]-1) * v.Stride[axis]
		w.Stride[axis] = -v.Stride[axis]
	}
	return w, nil
}

// Transpose reorders axes: axis k of the result is axis order[k] of v.
// Without an order it reverses them.
func (v View) Transpose(order ...int) (View, error) {
	w := v.clone()
	if len(order) == 0 {
		slices.Reverse(w.Shape)
		slices.Reverse(w.Stride)
		return w, nil
	}
	if len(order) != v.Rank() {
		return View{}, fmt.Errorf("transpose: order %v of %d axes: %w", clip(order), v.Rank(), ErrShape)
	}
	seen := uint64(0) // at most 64 axes, as in NumPy
	for k, axis := range order {
		axis, err := Axis(axis, v.Rank())
		if err != nil {
			return View{}, fmt.Errorf("transpose: %w", err)
		}
		if axis >= 64 || seen>>axis&1 != 0 {
			return View{}, fmt.Errorf("transpose: order %v names axis %d twice: %w", clip(order), axis, ErrShape)
		}
		seen |= 1 << axis
		w.Shape[k], w.Stride[k] = v.Shape[axis], v.Stride[axis]
	}
	return w, nil
}

// Unsqueeze inserts an axis of size 1, which becomes axis number axis.
func (v View) Unsqueeze(axis int) (View, error) {
	axis, err := Axis(axis, v.Rank()+1)
	if err != nil {
		return View{}, fmt.Errorf("unsqueeze: %w", err)
	}
	return v.with(axis, 1, v.skip(axis)), nil
}

// skip returns a stride for a new axis of size 1 before axis at with which a contiguous
// view is contiguous for libraries, too, that check the strides of such axes.
func (v View) skip(at int) int {
	if at == v.Rank() {
		return 1
	}
	return v.Shape[at] * v.Stride[at]
}

// Squeeze drops the given axes, which must have size 1; without arguments, all axes of
// size 1.
func (v View) Squeeze(axes ...int) (View, error) {
	drop := make([]int, 0, v.Rank())
	for _, axis := range axes {
		axis, err := Axis(axis, v.Rank())
		if err != nil {
			return View{}, fmt.Errorf("squeeze: %w", err)
		}
		if v.Shape[axis] != 1 {
			return View{}, fmt.Errorf("squeeze: axis %d has size %d, not 1: %w", axis, v.Shape[axis], ErrShape)
		}
		if !slices.Contains(drop, axis) {
			drop = append(drop, axis)
		}
	}
	for axis, size := range v.Shape {
		if len(axes) == 0 && size == 1 {
			drop = append(drop, axis)
		}
	}
	return v.without(drop...), nil
}

// Diagonal selects the elements whose index along axis b is that along axis a plus
// offset. The two axes are dropped, and the diagonal becomes the last axis.
func (v View) Diagonal(a, b, offset int) (View, error) {
	a, err := Axis(a, v.Rank())
	if err == nil {
		b, err = Axis(b, v.Rank())
	}
	if err != nil {
		return View{}, fmt.Errorf("diagonal: %w", err)
	}
	if a == b {
		return View{}, fmt.Errorf("diagonal: axis %d given twice: %w", a, ErrShape)
	}
	// Clipped to where the diagonal is empty, so that sums do not overflow.
	offset = max(-v.Shape[a], min(offset, v.Shape[b]))
	i, j := max(0, -offset), max(0, offset)
	n := max(0, min(v.Shape[a]-i, v.Shape[b]-j))
	w := v.without(a, b)
	if n > 0 {
		w.Offset += i*v.Stride[a] + j*v.Stride[b]
	}
	return w.with(w.Rank(), n, v.Stride[a]+v.Stride[b]), nil
}

// SlidingWindow returns the windows of size elements along axis, step apart, as
// PyTorch's unfold: axis counts the windows, and a new last axis the elements of a
// window. Windows may overlap; nothing is copied.
func (v View) SlidingWindow(axis, size, step int) (View, error) {
	axis, err := Axis(axis, v.Rank())
	if err != nil {
		return View{}, fmt.Errorf("window: %w", err)
	}
	if size < 0 || step < 1 || size > v.Shape[axis] {
		return View{}, fmt.Errorf("window: %d elements every %d of axis %d of size %d: %w", size, step, axis, v.Shape[axis], ErrShape)
	}
	w := v.with(v.Rank(), size, v.Stride[axis])
	w.Shape[axis] = (v.Shape[axis]-size)/step + 1
	if w.Shape[axis] > 1 {
		w.Stride[axis] *= step
	}
	if !countable(w.Shape) {
		return View{}, fmt.Errorf("window: the size of %v overflows: %w", w.Shape, ErrShape)
	}
	return w, nil
}

// countable reports whether the product of the sizes, zeros aside, fits an int.
func countable(shape []int) bool {
	n := uint(1)
	for _, size := range shape {
		high, low := bits.Mul(n, uint(max(1, size)))
		if high != 0 || low>>(bits.UintSize-1) != 0 {
			return false
		}
		n = low
	}
	return true
}
