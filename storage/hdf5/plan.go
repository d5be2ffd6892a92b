package hdf5

import "github.com/h5dnn/h5dnn/views"

// A axisSlice is how a view moves along one axis of a dataset: to the coordinates
// start, start+step, …, n of them, as it moves along one axis of its own.
type axisSlice struct {
	start, step, n int
	axis           int // of the view; -1 if it stays where it is
}

// hyperslabOf takes a view of positions, which count row by row through shape,
// apart by the axes of shape. Where an axis of the view moves along several of
// shape, or two along one, the chunks that the view touches are no simple boxes
// of it: then bad is an axis of the view to cut, else it is -1.
func hyperslabOf(shape []int, v views.View) (all []axisSlice, bad int) {
	all = make([]axisSlice, len(shape))
	start := v.Offset
	for axis := len(shape) - 1; axis >= 0; axis-- {
		all[axis] = axisSlice{start: start % shape[axis], n: 1, axis: -1}
		start /= shape[axis]
	}
	for k, n := range v.Shape {
		if n == 1 || v.Stride[k] == 0 {
			continue
		}
		axis, step, ok := strideAxis(shape, v.Stride[k])
		if !ok {
			return nil, k
		}
		t := &all[axis]
		if t.axis >= 0 && t.n < n {
			return nil, t.axis
		}
		if t.axis >= 0 {
			return nil, k
		}
		t.axis, t.step, t.n = k, step, n
		if last := t.start + step*(n-1); last < 0 || last >= shape[axis] {
			return nil, k // it runs over into the next row
		}
	}
	return all, -1
}

// strideAxis returns the one axis of shape that a stride of positions moves along.
func strideAxis(shape []int, stride int) (axis, step int, ok bool) {
	sign := 1
	if stride < 0 {
		sign, stride = -1, -stride
	}
	unit := 1
	for axis = len(shape) - 1; axis >= 0; axis-- {
		if shape[axis] > 1 && (stride < unit*shape[axis] || axis == 0) {
			return axis, sign * (stride / unit), stride%unit == 0
		}
		unit *= shape[axis]
	}
	return 0, 0, false
}

// A transfer is a part of a view, and where its elements go.
type transfer struct{ from, to views.View }

// eachHyperslab cuts a view of positions in shape until every piece has tracks, and
// calls do with each.
func eachHyperslab(shape []int, p transfer, do func(transfer, []axisSlice) error) error {
	if p.from.Len() == 0 {
		return nil
	}
	all, bad := hyperslabOf(shape, p.from)
	if bad < 0 {
		return do(p, all)
	}
	if whole, ok := p.splitRows(shape, bad); ok {
		return eachHyperslab(shape, whole, do)
	}
	low, high := p.halve(shape, bad)
	if err := eachHyperslab(shape, low, do); err != nil {
		return err
	}
	return eachHyperslab(shape, high, do)
}

// splitRows makes two axes of axis k if that walks through several rows of shape,
// from the start of the first to the end of the last.
func (p transfer) splitRows(shape []int, k int) (transfer, bool) {
	n, stride, row := p.from.Shape[k], p.from.Stride[k], 1
	for axis := len(shape) - 1; axis > 0; axis-- {
		unit := row
		row *= shape[axis]
		if stride < unit || stride >= row || stride%unit != 0 || row%stride != 0 {
			continue
		}
		if per := row / stride; n > per && n%per == 0 && p.from.Offset%row < stride {
			return transfer{splitAxis(p.from, k, per), splitAxis(p.to, k, per)}, true
		}
	}
	return p, false
}

// splitAxis makes axis k into two, of which the inner has n elements.
func splitAxis(v views.View, k, n int) views.View {
	w := views.View{Offset: v.Offset}
	w.Shape = append(append(append(w.Shape, v.Shape[:k]...), v.Shape[k]/n, n), v.Shape[k+1:]...)
	w.Stride = append(append(append(w.Stride, v.Stride[:k]...), v.Stride[k]*n, v.Stride[k]), v.Stride[k+1:]...)
	return w
}

// halve cuts axis k in two, at the end of a row of shape if it walks through several.
func (p transfer) halve(shape []int, k int) (low, high transfer) {
	n, at := p.from.Shape[k], p.cutPoint(shape, k)
	low = transfer{subrange(p.from, k, 0, at), subrange(p.to, k, 0, at)}
	high = transfer{subrange(p.from, k, at, n), subrange(p.to, k, at, n)}
	return low, high
}

// cutPoint returns where along axis k to halve.
func (p transfer) cutPoint(shape []int, k int) int {
	n, stride := p.from.Shape[k], p.from.Stride[k]
	middle := n / 2
	row := 1
	for axis := len(shape) - 1; axis > 0; axis-- {
		row *= shape[axis]
		if stride <= 0 || row <= stride || row%stride != 0 {
			continue
		}
		// The first element of the row that the middle lies in, or of the next one.
		first := (row - p.from.Offset%row + stride - 1) / stride
		per := row / stride
		if first < n {
			return min(first+max(0, middle-first)/per*per, n-1)
		}
	}
	return middle
}

func subrange(v views.View, axis, from, to int) views.View {
	w := views.View{Offset: v.Offset + from*v.Stride[axis]}
	w.Shape = append(w.Shape, v.Shape...)
	w.Stride = append(w.Stride, v.Stride...)
	w.Shape[axis] = to - from
	return w
}
