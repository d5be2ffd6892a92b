package views

import "fmt"

// Reshape returns the same elements in the same order with another shape, in which
// one size may be -1, to be inferred. It returns an error if no strides can express
// that, so that the elements would have to be copied.
func (v View) Reshape(shape ...int) (View, error) {
	w, fits, ok := v.reshape(shape)
	switch {
	case !fits:
		return View{}, fmt.Errorf("reshape: %d elements of shape %v do not fit shape %v: %w", v.Len(), v.Shape, clip(shape), ErrShape)
	case !ok:
		return View{}, fmt.Errorf("reshape: shape %v with strides %v cannot be viewed as %v; copy it first: %w", v.Shape, v.Stride, w.Shape, ErrShape)
	}
	return w, nil
}

// CanReshape reports whether Reshape to that shape succeeds.
func (v View) CanReshape(shape ...int) bool {
	_, _, ok := v.reshape(shape)
	return ok
}

// reshape returns the view, whether shape has as many elements as v, and whether there are strides
// for it.
func (v View) reshape(shape []int) (w View, fits, ok bool) {
	w = blank(len(shape))
	w.Offset = v.Offset
	copy(w.Shape, shape)
	if !fill(w.Shape, v.Len()) {
		return w, false, false
	}
	if v.Contiguous() {
		step := 1
		for axis := w.Rank() - 1; axis >= 0; axis-- {
			w.Stride[axis] = step
			step *= max(1, w.Shape[axis])
		}
		return w, true, true
	}
	return w, true, restride(w, v)
}

// fill replaces a -1 in shape by the size with which shape has n elements, and reports
// whether shape has n elements then.
func fill(shape []int, n int) bool {
	open, known := -1, 1
	for axis, size := range shape {
		switch {
		case size == -1 && open < 0:
			open = axis
		case size < 0:
			return false
		}
	}
	if open >= 0 {
		shape[open] = 1
	}
	if !countable(shape) {
		return false
	}
	for _, size := range shape {
		known *= size
	}
	if open < 0 {
		return known == n
	}
	if known == 0 || n%known != 0 {
		return false
	}
	shape[open] = n / known
	return true
}

// restride gives w, whose shape has as many elements as v's, the strides that
// show them in v's order, and reports whether there are such strides.
//
// Both shapes are divided into the shortest groups of axes with equal products. The
// axes of v in a group must merge into one, which the axes of w split.
func restride(w, v View) bool {
	from, to := 0, 0
	for from < v.Rank() && to < w.Rank() {
		first := from
		have, want := v.Shape[from], w.Shape[to]
		from, to = from+1, to+1
		for have != want {
			if have < want {
				have *= v.Shape[from]
				from++
			} else {
				want *= w.Shape[to]
				to++
			}
		}
		step, ok := v.joined(first, from)
		if !ok {
			return false
		}
		for axis := to - 1; axis >= 0 && want > 1; axis-- {
			w.Stride[axis] = step
			step *= w.Shape[axis]
			want /= w.Shape[axis]
		}
	}
	return true
}

// joined returns the stride of axes first to last-1 merged into one.
func (v View) joined(first, last int) (int, bool) {
	step, next, some := 0, 0, false // the stride that an axis must have to merge with those after it
	for axis := last - 1; axis >= first; axis-- {
		if v.Shape[axis] == 1 {
			continue
		}
		if some && v.Stride[axis] != next {
			return 0, false
		}
		if !some {
			step, some = v.Stride[axis], true
		}
		next = v.Stride[axis] * v.Shape[axis]
	}
	return step, true
}
