// Pooling; pool.go defines it.
#include "call.cuh"

struct Pooling { // poolSettings of pool_cuda.go, for three spatial axes
	int64_t kernel[3], stride[3], dilation[3], pad[3], end[3], exclude;
};
typedef CallWith<Pooling> Pool;

// Images are (N,C,H,W), or (N,C,D,H,W); the first of three spatial axes is D.
template <int AXES> FN int64_t size_of(const Array &a, int axis) {
	if (AXES == 4 && axis == 0)
		return 1;
	return a.shape[AXES - 3 + axis];
}
template <int AXES> FN int64_t along(Position<AXES> p, int axis) {
	if (AXES == 4 && axis == 0)
		return 0;
	return p.at[AXES - 3 + axis];
}
template <int AXES> FN Position<AXES> spot(Position<AXES> p, int64_t i, int64_t j, int64_t k) {
	if constexpr (AXES == 5)
		return {p.at[0], p.at[1], i, j, k};
	else
		return {p.at[0], p.at[1], j, k};
}
FN bool within(int64_t i, int64_t size) { return (uint64_t)i < (uint64_t)size; } // below 0 is far above

// Calls f(value, index in the image) for the elements of a window, at this position of y, that are inside of x.
template <class T, int AXES, class F> FN void window_of(const Pooling &set, const Array &x, Position<AXES> to, F f) {
	int64_t d = size_of<AXES>(x, 0), h = size_of<AXES>(x, 1), w = size_of<AXES>(x, 2);
	for (int64_t p = 0; p < (AXES == 4 ? 1 : set.kernel[0]); p++)
		for (int64_t q = 0; q < set.kernel[1]; q++)
			for (int64_t r = 0; r < set.kernel[2]; r++) {
				int64_t i = AXES == 4 ? 0 : along(to, 0) * set.stride[0] + p * set.dilation[0] - set.pad[0];
				int64_t j = along(to, 1) * set.stride[1] + q * set.dilation[1] - set.pad[1], k = along(to, 2) * set.stride[2] + r * set.dilation[2] - set.pad[2];
				if (within(i, d) && within(j, h) && within(k, w))
					f(get<T>(x.p, place(x, spot(to, i, j, k))), (int32_t)((i * h + j) * w + k));
			}
}

// Calls f(position of y) for the windows that may contain a position of x.
template <int AXES, class F> FN void windows_with(const Pooling &set, const Array &y, Position<AXES> from, F f) {
	int64_t last[3], first[3];
	UNROLL for (int axis = 0; axis < 3; axis++) {
		int64_t at = along(from, axis) + set.pad[axis], extent = (set.kernel[axis] - 1) * set.dilation[axis] + 1;
		first[axis] = at < extent ? 0 : (at - extent) / set.stride[axis] + 1;
		last[axis] = at / set.stride[axis];
		if (last[axis] >= size_of<AXES>(y, axis))
			last[axis] = size_of<AXES>(y, axis) - 1;
	}
	for (int64_t i = AXES == 4 ? 0 : first[0]; i <= (AXES == 4 ? 0 : last[0]); i++)
		for (int64_t j = first[1]; j <= last[1]; j++)
			for (int64_t k = first[2]; k <= last[2]; k++) f(spot(from, i, j, k));
}

// The number of elements that the mean of a window counts.
template <int AXES> FN int64_t counted(const Pooling &set, const Array &x, Position<AXES> to) {
	int64_t n = 1;
	UNROLL for (int axis = 3 - (AXES - 2); axis < 3; axis++) {
		int64_t from = along(to, axis) * set.stride[axis] - set.pad[axis], end = set.exclude ? size_of<AXES>(x, axis) : set.end[axis];
		int64_t until = from + set.kernel[axis] < end ? from + set.kernel[axis] : end;
		n *= until - (set.exclude && from < 0 ? 0 : from);
	}
	return n;
}

template <class T, int AXES> FN void max_pool_of(const Pool &c) {
	EACH(e, (uint32_t)c.n) {
		Position<AXES> to = position<AXES>(c, e);
		Calc<T> best = -(Calc<T>)infinity();
		int32_t winner = -1;
		window_of<T>(c.set, c.in[0], to, [&](Calc<T> v, int32_t index) {
			if (winner < 0 || v > best || v != v)
				best = v, winner = index;
		});
		put<T>(c.out[0].p, place(c.out[0], to), best);
		const Array &at = c.out[1];
		if (at.p)
			((int32_t *)at.p)[place(at, to)] = winner;
	}
}

template <class T, int AXES> FN void max_pool_grad_of(const Pool &c) {
	const Array &dx = c.out[0], &dy = c.in[0], &at = c.in[1], &relu = c.in[2];
	EACH(e, (uint32_t)c.n) {
		Position<AXES> from = position<AXES>(c, e);
		Calc<T> sum = 0;
		int32_t index = (int32_t)((along(from, 0) * size_of<AXES>(dx, 1) + along(from, 1)) * size_of<AXES>(dx, 2) + along(from, 2));
		windows_with(c.set, dy, from, [&](Position<AXES> to) {
			int64_t y = place(dy, to);
			if (((const int32_t *)at.p)[place(at, to)] == index && !(relu.p && get<T>(relu.p, y) <= 0))
				sum += get<T>(dy.p, y);
		});
		put<T>(dx.p, place(dx, from), sum);
	}
}

template <class T, int AXES> FN void average_pool_of(const Pool &c) {
	EACH(e, (uint32_t)c.n) {
		Position<AXES> to = position<AXES>(c, e);
		Calc<T> sum = 0;
		window_of<T>(c.set, c.in[0], to, [&](Calc<T> v, int32_t) { sum += v; });
		put<T>(c.out[0].p, place(c.out[0], to), sum / (Calc<T>)counted(c.set, c.in[0], to));
	}
}

template <class T, int AXES> FN void average_pool_grad_of(const Pool &c) {
	const Array &dx = c.out[0], &dy = c.in[0];
	EACH(e, (uint32_t)c.n) {
		Position<AXES> from = position<AXES>(c, e);
		Calc<T> sum = 0;
		windows_with(c.set, dy, from, [&](Position<AXES> to) { sum += get<T>(dy.p, place(dy, to)) / (Calc<T>)counted(c.set, dx, to); });
		put<T>(dx.p, place(dx, from), sum);
	}
}

#define POOL(name) \
	template <class T> FN void name(const Pool &c) { \
		if (c.out[0].rank == 4) \
			name##_of<T, 4>(c); \
		else \
			name##_of<T, 5>(c); \
	} \
	FLOATS(name, Pool)
POOL(max_pool)
POOL(max_pool_grad)
POOL(average_pool)
POOL(average_pool_grad)
