// The parameters of kernels that have no launch function of their own in Go (kernels/launch/call.go declares the
// same structs): operands, settings, and the elements of the first output to compute, one by each thread.
//
//	struct Scale { double by; }; // ScaleOptions, number by number
//	template <class T> FN void scale(const CallWith<Scale> &c) { EACH(i, (uint32_t)c.n) … }
//	FLOATS(scale, CallWith<Scale>)
#pragma once
#include "types.cuh"

enum { ARRAYS = 6 };

// An operand; p is null if it was not given.
struct Array {
	void *p; // address of the first element
	int64_t type, rank, shape[RANK], stride[RANK];
};

struct Call {
	int64_t n;                       // elements of the window, fewer than 2³¹
	int64_t from[RANK], size[RANK]; // the window of the first output
	Divisor next[RANK], length[RANK]; // the number of elements from one position along an axis to the next, and size
	Array out[ARRAYS], in[ARRAYS];
};
template <class Set> struct CallWith : Call {
	Set set;
};

template <int AXES> struct Position {
	int64_t at[AXES];
};

// The position of element i of the window in the first output. Elements are numbered in the order of memory, so
// that adjacent threads take adjacent elements.
template <int AXES> FN Position<AXES> position(const Call &c, uint32_t i) {
	Position<AXES> p;
	UNROLL for (int axis = 0; axis < AXES; axis++) {
		p.at[axis] = c.from[axis];
		if (c.size[axis] > 1) {
			uint32_t rest = over(i, c.next[axis]);
			p.at[axis] += rest - over(rest, c.length[axis]) * (uint32_t)c.size[axis];
		}
	}
	return p;
}

// The offset of a position in an array.
template <int AXES> FN int64_t place(const Array &a, Position<AXES> p) {
	int64_t at = 0;
	UNROLL for (int axis = 0; axis < AXES; axis++) at += p.at[axis] * a.stride[axis];
	return at;
}
