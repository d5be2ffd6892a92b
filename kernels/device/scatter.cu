// Elements put at an index along one axis, or added there; gather.go has the formulas. Each thread owns a part of the
// axis of one line of y and goes through the whole index of the line, so that no two threads write one element, and the
// elements of one index are joined in their order.
#include "fault.cuh"
#include "grid.cuh"
#include "types.cuh"

struct Scatter {
	void *y;
	const void *x;
	const int64_t *index;
	Fault *fault;
	int64_t lines, parts;
	int64_t size, step;        // of the axis of y
	int64_t n, x_step, i_step; // of the axis of x and of the index
	int64_t type;              // of elements, if T is Whole
	Grid g;                    // of y, x and index: the starts of the lines
};

template <class F> FN void scatter(const Scatter &a, F f) {
	EACH(unit, (uint32_t)(a.lines * a.parts)) {
		uint32_t part = unit / (uint32_t)a.lines;
		Places<3> p = places<3>(a.g, unit - part * (uint32_t)a.lines);
		int64_t from = a.size * part / a.parts, to = a.size * (part + 1) / a.parts;
		for (int64_t k = 0; k < a.n; k++) {
			int64_t i = a.index[p.at[2] + k * a.i_step];
			if (i < 0 || i >= a.size)
				refuse(a.fault, {k, i, -1 - a.size});
			else if (i >= from && i < to)
				f(p.at[0] + i * a.step, p.at[1] + k * a.x_step);
		}
	}
}

#define JOIN(name, formula) \
	template <class T> FN void scatter_##name(const Scatter &a) { \
		scatter(a, [&](int64_t y, int64_t x) { \
			auto p = get<T>(a.y, y, a.type), q = get<T>(a.x, x, a.type); \
			put<T>(a.y, y, formula, a.type); \
		}); \
	} \
	FLOATS(scatter_##name, Scatter) \
	WHOLES(scatter_##name, Scatter)
JOIN(add, p + q)
JOIN(mul, p * q)
JOIN(max, p > q || p != p ? p : q)
JOIN(min, p < q || p != p ? p : q)

#define SCATTER(size, word) \
	KERNEL scatter_##size(Scatter a) { \
		scatter(a, [&](int64_t y, int64_t x) { ((word *)a.y)[y] = ((const word *)a.x)[x]; }); \
	}
SCATTER(1, uint8_t)
SCATTER(2, uint16_t)
SCATTER(4, uint32_t)
SCATTER(8, uint64_t)
SCATTER(16, Four)
