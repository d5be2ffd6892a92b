package views

import "slices"

// Like returns the dense view of v's shape whose axes have the same order in memory
// as v's. An axis of one element, or of stride 0, has no order in memory and keeps its
// place in row-major order.
func Like(v View) View {
	var buffer [2][16]int
	order := buffer[0][:0] // axes from the slowest to the fastest
	for axis := range v.Shape {
		order = append(order, axis)
	}
	place := buffer[1][:0]
	moves := func(axis int) bool { return v.Shape[axis] != 1 && v.Stride[axis] != 0 }
	for axis := range v.Shape {
		if moves(axis) {
			place = append(place, axis)
		}
	}
	byStride(place, v.Stride)
	for at := range order {
		if moves(at) {
			order[at], place = place[0], place[1:]
		}
	}
	return denseInOrder(v.Shape, order)
}

// byStride sorts axes from the largest stride to the smallest; equals stay.
// Ranks are small, and an insertion sort allocates nothing.
func byStride(axes, stride []int) {
	for i := 1; i < len(axes); i++ {
		for k := i; k > 0 && abs(stride[axes[k]]) > abs(stride[axes[k-1]]); k-- {
			axes[k], axes[k-1] = axes[k-1], axes[k]
		}
	}
}

// denseInOrder returns the dense view whose axes have the given order in memory,
// slowest first.
func denseInOrder(shape, order []int) View {
	v := blank(len(shape))
	copy(v.Shape, shape)
	step := 1
	for _, axis := range slices.Backward(order) {
		v.Stride[axis] = step
		step *= max(1, shape[axis])
	}
	return v
}

// ChannelsLast returns the dense view of the given shape, (N, C, …), whose elements are
// in the order N, …, C: the channels of a pixel are adjacent.
func ChannelsLast(shape ...int) View {
	order := []int{0}
	for axis := 2; axis < len(shape); axis++ {
		order = append(order, axis)
	}
	return denseInOrder(Of(shape...).Shape, append(order, 1)[:len(shape)])
}
