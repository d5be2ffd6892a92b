// Pooling over windows of images: what it means, says pool.go.
#include "types.cuh"

struct Pool {
	void *x, *y, *at;
	const void *relu; // y of a relu that was pooled, laid out as y; or none
	int64_t n;        // of y's elements, or of x's for a slope
	int64_t xs[4], ys[4], as[4];
	uint32_t channels, x_size[2], y_size[2], kernel[2], stride[2], pad[2], wide;
};

struct Spot {
	uint32_t n, c, i, j;
};
FN Spot spot(uint32_t at, uint32_t channels, const uint32_t *size) {
	uint32_t row = at / size[1], plane = row / size[0];
	return {plane / channels, plane % channels, row % size[0], at - row * size[1]};
}
FN int64_t place(Spot s, const int64_t *stride) { return s.n * stride[0] + s.c * stride[1] + s.i * stride[2] + s.j * stride[3]; }

// Visits the taps of y's window that fall on x: what to do sees v and tap.
#define TAPS(...) \
	for (uint32_t p = 0; p < a.kernel[0]; p++) \
		for (uint32_t q = 0; q < a.kernel[1]; q++) { \
			uint32_t i = to.i * a.stride[0] + p - a.pad[0], j = to.j * a.stride[1] + q - a.pad[1], tap = p * a.kernel[1] + q; \
			if (i < a.x_size[0] && j < a.x_size[1]) { \
				Calc<T> v = get<T>(a.x, place({to.n, to.c, i, j}, a.xs)); \
				__VA_ARGS__ \
			} \
		}

template <class T> FN void max_pool(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Spot to = spot(e, a.channels, a.y_size);
		Calc<T> best = 0;
		uint32_t winner = ~0u;
		TAPS(if (winner == ~0u || v > best || (v != v && best == best)) best = v, winner = tap;)
		put<T>(a.y, place(to, a.ys), best);
		if (a.at && a.wide)
			((int32_t *)a.at)[place(to, a.as)] = (int32_t)winner;
		else if (a.at)
			((uint8_t *)a.at)[place(to, a.as)] = (uint8_t)winner;
	}
}

template <class T> FN void average_pool(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Spot to = spot(e, a.channels, a.y_size);
		Calc<T> sum = 0;
		TAPS((void)tap; sum += v;)
		put<T>(a.y, place(to, a.ys), sum / (Calc<T>)(a.kernel[0] * a.kernel[1]));
	}
}

// Visits the windows that x's pixel is a tap of: what to do sees tap, and to of y.
#define WINDOWS(...) \
	for (uint32_t p = 0; p < a.kernel[0]; p++) \
		for (uint32_t q = 0; q < a.kernel[1]; q++) { \
			uint32_t i = from.i + a.pad[0] - p, j = from.j + a.pad[1] - q, oi = i / a.stride[0], oj = j / a.stride[1], tap = p * a.kernel[1] + q; \
			if (i == oi * a.stride[0] && j == oj * a.stride[1] && oi < a.y_size[0] && oj < a.y_size[1]) { \
				Spot to = {from.n, from.c, oi, oj}; \
				__VA_ARGS__ \
			} \
		}

template <class T> FN void max_pool_grad(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Spot from = spot(e, a.channels, a.x_size);
		Calc<T> sum = 0;
		WINDOWS({
			int64_t w = place(to, a.as), y = place(to, a.ys);
			uint32_t winner = a.wide ? ((const uint32_t *)a.at)[w] : ((const uint8_t *)a.at)[w];
			if (winner == tap && !(a.relu && get<T>(a.relu, y) <= 0))
				sum += get<T>(a.y, y);
		})
		put<T>(a.x, place(from, a.xs), sum);
	}
}

template <class T> FN void average_pool_grad(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Spot from = spot(e, a.channels, a.x_size);
		Calc<T> sum = 0;
		WINDOWS((void)tap; sum += get<T>(a.y, place(to, a.ys));)
		put<T>(a.x, place(from, a.xs), sum / (Calc<T>)(a.kernel[0] * a.kernel[1]));
	}
}

FLOATS(max_pool, Pool)
FLOATS(max_pool_grad, Pool)
FLOATS(average_pool, Pool)
FLOATS(average_pool_grad, Pool)
