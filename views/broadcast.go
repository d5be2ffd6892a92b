package views

// Broadcast broadcasts v to shape by repeating elements along new leading axes and
// axes of size 1. It reports false if the shapes are not compatible.
func (v View) Broadcast(shape ...int) (View, bool) {
	lead := len(shape) - v.Rank()
	if lead < 0 || !countable(shape) {
		return v, false
	}
	w := blank(len(shape))
	w.Offset = v.Offset
	copy(w.Shape, shape)
	for axis, size := range shape {
		switch {
		case size < 0:
			return v, false
		case axis < lead: // stride 0 repeats it
		case v.Shape[axis-lead] == size:
			w.Stride[axis] = v.Stride[axis-lead]
		case v.Shape[axis-lead] != 1:
			return v, false
		}
	}
	return w, true
}

// BroadcastShape returns the shape to which a and b broadcast, or false.
func BroadcastShape(a, b []int) ([]int, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := append([]int(nil), a...)
	for axis, size := range b {
		switch have := &shape[len(a)-len(b)+axis]; {
		case *have == size, size == 1:
		case *have == 1:
			*have = size
		default:
			return nil, false
		}
	}
	return shape, true
}
