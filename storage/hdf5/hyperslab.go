package hdf5

import "github.com/h5dnn/h5dnn/views"

// A hyperslab selects coordinates along each axis of a dataset.
type hyperslab []axisSlice

// An axisSlice selects the coordinates start, start+step, …, n of them, along one axis of
// a dataset, and says which axis of a view runs through them.
type axisSlice struct {
	start, step, n int
	axis           int // of the view, or -1 if the coordinate is fixed
}

// hyperslabOf converts a view, whose offset and strides count elements of a row-major
// shape, into a hyperslab of that shape. That is not possible if an axis of the view runs
// through several axes of the shape, or two through one. Then bad is an axis of the view
// to divide; otherwise it is -1.
func hyperslabOf(shape []int, v views.View) (h hyperslab, bad int) {
	h = make(hyperslab, len(shape))
	start := v.Offset
	for axis := len(shape) - 1; axis >= 0; axis-- {
		h[axis] = axisSlice{start: start % shape[axis], n: 1, axis: -1}
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
		a := &h[axis]
		if a.axis >= 0 && a.n < n {
			return nil, a.axis
		}
		if a.axis >= 0 {
			return nil, k
		}
		a.axis, a.step, a.n = k, step, n
		if last := a.start + step*(n-1); last < 0 || last >= shape[axis] {
			return nil, k // it continues in the next row
		}
	}
	return h, -1
}

// strideAxis returns the axis of shape that a stride runs along, and the step along it. ok
// is false if the stride is not a multiple of that of an axis.
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

// A transfer reads the elements that from selects of a dataset to where to selects them
// in a buffer. Both views have the same shape.
type transfer struct{ from, to views.View }

// eachHyperslab divides a transfer from a dataset of the given shape into transfers whose
// elements are a hyperslab, and calls do for each.
func eachHyperslab(shape []int, p transfer, do func(transfer, hyperslab) error) error {
	if p.from.Len() == 0 {
		return nil
	}
	h, bad := hyperslabOf(shape, p.from)
	if bad < 0 {
		return do(p, h)
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

// splitRows replaces axis k by two axes, if it runs through several rows of shape from
// the start of the first to the end of the last.
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

// splitAxis replaces axis k by two, of which the inner one has n elements.
func splitAxis(v views.View, k, n int) views.View {
	w := views.View{Offset: v.Offset}
	w.Shape = append(append(append(w.Shape, v.Shape[:k]...), v.Shape[k]/n, n), v.Shape[k+1:]...)
	w.Stride = append(append(append(w.Stride, v.Stride[:k]...), v.Stride[k]*n, v.Stride[k]), v.Stride[k+1:]...)
	return w
}

// halve divides axis k in two, at the end of a row of shape if it runs through several.
func (p transfer) halve(shape []int, k int) (low, high transfer) {
	n, at := p.from.Shape[k], p.middle(shape, k)
	low = transfer{subrange(p.from, k, 0, at), subrange(p.to, k, 0, at)}
	high = transfer{subrange(p.from, k, at, n), subrange(p.to, k, at, n)}
	return low, high
}

// middle returns where halve divides axis k.
func (p transfer) middle(shape []int, k int) int {
	n, stride := p.from.Shape[k], p.from.Stride[k]
	half := n / 2
	row := 1
	for axis := len(shape) - 1; axis > 0; axis-- {
		row *= shape[axis]
		if stride <= 0 || row <= stride || row%stride != 0 {
			continue
		}
		// The first element of the row that contains the middle, or of the next row.
		first := (row - p.from.Offset%row + stride - 1) / stride
		per := row / stride
		if first < n {
			return min(first+max(0, half-first)/per*per, n-1)
		}
	}
	return half
}

// subrange returns the elements from to to-1 of an axis.
func subrange(v views.View, axis, from, to int) views.View {
	w := views.View{Offset: v.Offset + from*v.Stride[axis]}
	w.Shape = append(w.Shape, v.Shape...)
	w.Stride = append(w.Stride, v.Stride...)
	w.Shape[axis] = to - from
	return w
}
