// Pooling; pool.go defines it.
#include "call.cuh"

struct Pool2d { // Pool2dOptions
	int64_t kernel[2], stride[2], padding[2];
};
typedef CallWith<Pool2d> Pool;
typedef Position<4> Spot;

FN int64_t stride(const Pool2d &set, int axis) { return set.stride[axis] ? set.stride[axis] : set.kernel[axis]; }

// Calls f(v, tap) for those taps of a pixel's window that fall on x.
template <class T, class F> FN void taps(const Pool2d &set, const Array &x, Spot to, F f) {
	for (int64_t p = 0; p < set.kernel[0]; p++)
		for (int64_t q = 0; q < set.kernel[1]; q++) {
			int64_t i = to.at[2] * stride(set, 0) + p - set.padding[0], j = to.at[3] * stride(set, 1) + q - set.padding[1];
			if ((uint64_t)i < (uint64_t)x.shape[2] && (uint64_t)j < (uint64_t)x.shape[3]) // below 0 is far above
				f(get<T>(x.p, place(x, Spot{to.at[0], to.at[1], i, j})), (uint32_t)(p * set.kernel[1] + q));
		}
}

template <class T> FN void max_pool(const Pool &c) {
	EACH(e, (uint32_t)c.n) {
		Spot to = position<4>(c, e);
		Calc<T> best = 0;
		uint32_t winner = ~0u;
		taps<T>(c.set, c.in[0], to, [&](Calc<T> v, uint32_t tap) {
			if (winner == ~0u || v > best || (v != v && best == best))
				best = v, winner = tap;
		});
		put<T>(c.out[0].p, place(c.out[0], to), best);
		const Array &at = c.out[1];
		if (at.p && at.type == U8)
			((uint8_t *)at.p)[place(at, to)] = (uint8_t)winner;
		else if (at.p)
			((int32_t *)at.p)[place(at, to)] = (int32_t)winner;
	}
}

template <class T> FN void average_pool(const Pool &c) {
	EACH(e, (uint32_t)c.n) {
		Spot to = position<4>(c, e);
		Calc<T> sum = 0;
		taps<T>(c.set, c.in[0], to, [&](Calc<T> v, uint32_t) { sum += v; });
		put<T>(c.out[0].p, place(c.out[0], to), sum / (Calc<T>)(c.set.kernel[0] * c.set.kernel[1]));
	}
}

// Calls f(spot of y, tap) for those windows that a spot of x is a tap of, from the last, of which it is the
// first: p and q are where it is in them.
template <class F> FN void windows(const Pool2d &set, const Array &y, Spot from, F f) {
	int64_t down = stride(set, 0), across = stride(set, 1), i = from.at[2] + set.padding[0], j = from.at[3] + set.padding[1];
	int64_t top = i / down, left = j / across;
	for (int64_t a = top, p = i - top * down; a >= 0 && p < set.kernel[0]; a--, p += down)
		for (int64_t b = left, q = j - left * across; b >= 0 && q < set.kernel[1]; b--, q += across) {
			if (a < y.shape[2] && b < y.shape[3])
				f(Spot{from.at[0], from.at[1], a, b}, (uint32_t)(p * set.kernel[1] + q));
		}
}

template <class T> FN void max_pool_grad(const Pool &c) {
	const Array &dx = c.out[0], &dy = c.in[0], &at = c.in[1], &relu = c.in[2];
	EACH(e, (uint32_t)c.n) {
		Spot from = position<4>(c, e);
		Calc<T> sum = 0;
		windows(c.set, dy, from, [&](Spot to, uint32_t tap) {
			int64_t w = place(at, to), y = place(dy, to);
			uint32_t winner = at.type == U8 ? ((const uint8_t *)at.p)[w] : ((const uint32_t *)at.p)[w];
			if (winner == tap && !(relu.p && get<T>(relu.p, y) <= 0))
				sum += get<T>(dy.p, y);
		});
		put<T>(dx.p, place(dx, from), sum);
	}
}

template <class T> FN void average_pool_grad(const Pool &c) {
	EACH(e, (uint32_t)c.n) {
		Spot from = position<4>(c, e);
		Calc<T> sum = 0;
		windows(c.set, c.in[0], from, [&](Spot to, uint32_t) { sum += get<T>(c.in[0].p, place(c.in[0], to)); });
		put<T>(c.out[0].p, place(c.out[0], from), sum / (Calc<T>)(c.set.kernel[0] * c.set.kernel[1]));
	}
}

FLOATS(max_pool, Pool)
FLOATS(max_pool_grad, Pool)
FLOATS(average_pool, Pool)
FLOATS(average_pool_grad, Pool)
