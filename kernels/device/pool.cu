// Pooling; pool.go defines it. Threads take the results in the order of memory, and W adjacent channels
// at once if a.pack is set.
#include "types.cuh"

struct PoolAxis { // poolAxisArgs of pool_cuda.go
	int32_t in, out; // elements of x and windows of y
	int32_t kernel, stride, dilation, pad, end, from; // from is the first position of this launch
	Divisor by_stride;
	int64_t x, y, at; // strides
};
struct Strides {
	int64_t x, y, at;
};
struct UnitAxis {
	int64_t size;
	Divisor by;
};

struct Pool { // x and y are dx and dy of the gradients
	void *x, *y;
	int32_t *at;
	const void *relu; // laid out as y; null if there is none
	int64_t n, exclude, last, pack, pairs; // last: channels are innermost; pairs: of pixels of x are aligned
	Strides image, channel;
	UnitAxis unit[5]; // image, channels, spatial axes; or the channels innermost
	PoolAxis axis[3];
};

// What a thread computes: W channels, from number c·W on, at a position.
struct Unit {
	uint32_t n, c;
	int32_t i[3];
};
// The position of element e along an axis of units; e becomes the number of the element along the axes before it.
FN uint32_t along(const UnitAxis &axis, uint32_t &e) {
	uint32_t all = e;
	e = over(e, axis.by);
	return all - e * (uint32_t)axis.size;
}
FN Unit unit(const Pool &a, uint32_t e) {
	Unit u;
	if (a.last)
		u.c = along(a.unit[4], e);
	UNROLL for (int k = 2; k >= 0; k--) u.i[k] = (int32_t)along(a.unit[a.last ? 1 + k : 2 + k], e) + a.axis[k].from;
	if (!a.last)
		u.c = along(a.unit[1], e);
	u.n = e;
	return u;
}

// The offsets of the first channel of a unit's image.
template <int W> FN Strides image_of(const Pool &a, Unit u) {
	int64_t c = (int64_t)u.c * W;
	return {u.n * a.image.x + c * a.channel.x, u.n * a.image.y + c * a.channel.y, u.n * a.image.at + c * a.channel.at};
}
FN int64_t x_at(const Pool &a, int32_t i, int32_t j, int32_t k) { return i * a.axis[0].x + j * a.axis[1].x + k * a.axis[2].x; }
FN int64_t y_at(const Pool &a, int32_t i, int32_t j, int32_t k) { return i * a.axis[0].y + j * a.axis[1].y + k * a.axis[2].y; }
FN int64_t index_at(const Pool &a, int32_t i, int32_t j, int32_t k) { return i * a.axis[0].at + j * a.axis[1].at + k * a.axis[2].at; }

// The index of a pixel in its image.
FN int32_t pixel_of(const Pool &a, int32_t i, int32_t j, int32_t k) { return (i * a.axis[1].in + j) * a.axis[2].in + k; }

FN bool within(int32_t i, int32_t size) { return (uint32_t)i < (uint32_t)size; } // below 0 is far above

template <int W, class T> FN void set(void *p, int64_t at, Pack<Calc<T>, W> v) { lay((T *)p + at, v); }

// Calls f(position in x) for the elements of a window that are inside of x.
template <class F> FN void window_of(const Pool &a, const int32_t *to, F f) {
	for (int32_t p = 0, i = to[0] * a.axis[0].stride - a.axis[0].pad; p < a.axis[0].kernel; p++, i += a.axis[0].dilation) {
		if (!within(i, a.axis[0].in))
			continue;
		for (int32_t q = 0, j = to[1] * a.axis[1].stride - a.axis[1].pad; q < a.axis[1].kernel; q++, j += a.axis[1].dilation) {
			if (!within(j, a.axis[1].in))
				continue;
			for (int32_t r = 0, k = to[2] * a.axis[2].stride - a.axis[2].pad; r < a.axis[2].kernel; r++, k += a.axis[2].dilation) {
				if (within(k, a.axis[2].in))
					f(i, j, k);
			}
		}
	}
}

// The windows along an axis that may contain a position of x.
struct Span {
	int32_t first, last;
};
FN Span windows_with(const PoolAxis &a, int32_t i) {
	int32_t at = i + a.pad, extent = (a.kernel - 1) * a.dilation + 1, last = (int32_t)over((uint32_t)at, a.by_stride);
	return {at < extent ? 0 : (int32_t)over((uint32_t)(at - extent), a.by_stride) + 1, last < a.out ? last : a.out - 1};
}

// The number of elements along an axis that the mean of a window counts.
FN int64_t counted(const Pool &a, const PoolAxis &axis, int32_t window) {
	int32_t from = window * axis.stride - axis.pad, until = from + axis.kernel, end = a.exclude ? axis.in : axis.end;
	return (until < end ? until : end) - (a.exclude && from < 0 ? 0 : from);
}

// The maxima so far of W windows, and their pixels. A NaN is larger than what came before it, as in PyTorch.
template <class T, int W> struct Best {
	Pack<Calc<T>, W> value;
	Pack<int32_t, W> pixel;
	__device__ __forceinline__ Best() {
		UNROLL for (int w = 0; w < W; w++) value.at[w] = -(Calc<T>)infinity(), pixel.at[w] = -1;
	}
	__device__ __forceinline__ void take(Pack<T, W> x, int32_t here) {
		UNROLL for (int w = 0; w < W; w++) {
			Calc<T> v = x.at[w];
			if ((v > value.at[w]) | (v != v) | (pixel.at[w] < 0))
				value.at[w] = v, pixel.at[w] = here;
		}
	}
	__device__ __forceinline__ void store(const Pool &a, Unit u, Strides first) const {
		set<W, T>(a.y, first.y + y_at(a, u.i[0], u.i[1], u.i[2]), value);
		if (a.at)
			set<W, int32_t>(a.at, first.at + index_at(a, u.i[0], u.i[1], u.i[2]), pixel);
	}
};

template <class T, int W> FN void max_pool_of(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Unit u = unit(a, e);
		Strides first = image_of<W>(a, u);
		Best<T, W> best;
		window_of(a, u.i, [&](int32_t i, int32_t j, int32_t k) { best.take(adjacent<W, T>(a.x, first.x + x_at(a, i, j, k)), pixel_of(a, i, j, k)); });
		best.store(a, u, first);
	}
}

// Windows of 2 by 2 pixels, side by side.
template <class T, int W> FN void max_pool_2x2_of(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Unit u = unit(a, e);
		Strides first = image_of<W>(a, u);
		int32_t j = 2 * u.i[1], k = 2 * u.i[2], here = pixel_of(a, u.i[0], j, k);
		int64_t at = first.x + x_at(a, u.i[0], j, k);
		Best<T, W> best;
		UNROLL for (int q = 0; q < 2; q++, here += a.axis[2].in, at += a.axis[1].x) {
			if (W == 1 && a.pairs) {
				Pack<T, 2> two = adjacent<2, T>(a.x, at);
				UNROLL for (int r = 0; r < 2; r++) best.take(Pack<T, W>{{two.at[r]}}, here + r);
			} else {
				best.take(adjacent<W, T>(a.x, at), here);
				best.take(adjacent<W, T>(a.x, at + a.axis[2].x), here + 1);
			}
		}
		best.store(a, u, first);
	}
}

// The gradients of W windows with respect to the input of the relu, if there is one, and the pixels that they go to.
template <class T, int W> struct Given {
	Pack<Calc<T>, W> dy;
	Pack<int32_t, W> pixel;
	__device__ __forceinline__ Given(const Pool &a, Strides first, int32_t i, int32_t j, int32_t k) {
		int64_t y = first.y + y_at(a, i, j, k);
		Pack<T, W> d = adjacent<W, T>(a.y, y);
		pixel = adjacent<W, int32_t>(a.at, first.at + index_at(a, i, j, k));
		UNROLL for (int w = 0; w < W; w++) dy.at[w] = d.at[w];
		if (a.relu) {
			Pack<T, W> r = adjacent<W, T>(a.relu, y);
			UNROLL for (int w = 0; w < W; w++) dy.at[w] = (Calc<T>)r.at[w] <= 0 ? 0 : dy.at[w];
		}
	}
	__device__ __forceinline__ Calc<T> to(int w, int32_t here) const { return pixel.at[w] == here ? dy.at[w] : 0; }
};

template <class T, int W> FN void max_pool_grad_of(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Unit u = unit(a, e);
		Strides first = image_of<W>(a, u);
		Pack<Calc<T>, W> sum;
		UNROLL for (int w = 0; w < W; w++) sum.at[w] = 0;
		int32_t here = pixel_of(a, u.i[0], u.i[1], u.i[2]);
		Span p = windows_with(a.axis[0], u.i[0]), q = windows_with(a.axis[1], u.i[1]), r = windows_with(a.axis[2], u.i[2]);
		for (int32_t i = p.first; i <= p.last; i++)
			for (int32_t j = q.first; j <= q.last; j++)
				for (int32_t k = r.first; k <= r.last; k++) {
					Given<T, W> from(a, first, i, j, k);
					UNROLL for (int w = 0; w < W; w++) sum.at[w] += from.to(w, here);
				}
		set<W, T>(a.x, first.x + x_at(a, u.i[0], u.i[1], u.i[2]), sum);
	}
}

// Stores two neighbouring pixels, or the first one if it is in the last column.
template <int W, class T> FN void set_pair(const Pool &a, int64_t at, Pack<Calc<T>, W> first, Pack<Calc<T>, W> second, int32_t columns) {
	if (W == 1 && a.pairs && columns > 1) {
		set<2, T>(a.x, at, Pack<Calc<T>, 2>{{first.at[0], second.at[0]}});
		return;
	}
	set<W, T>(a.x, at, first);
	if (columns > 1)
		set<W, T>(a.x, at + a.axis[2].x, second);
}

// A unit is the pixels of one window, or the pixels of a last row or column that no window has.
template <class T, int W> FN void max_pool_2x2_grad_of(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Unit u = unit(a, e);
		Strides first = image_of<W>(a, u);
		int32_t j = 2 * u.i[1], k = 2 * u.i[2], here = pixel_of(a, u.i[0], j, k), rows = a.axis[1].in - j, columns = a.axis[2].in - k;
		int64_t at = first.x + x_at(a, u.i[0], j, k);
		Pack<Calc<T>, W> dx[2][2];
		UNROLL for (int q = 0; q < 2; q++)
			UNROLL for (int r = 0; r < 2; r++)
				UNROLL for (int w = 0; w < W; w++) dx[q][r].at[w] = 0;
		if (rows > 1 && columns > 1) {
			Given<T, W> from(a, first, u.i[0], u.i[1], u.i[2]);
			UNROLL for (int q = 0; q < 2; q++)
				UNROLL for (int r = 0; r < 2; r++)
					UNROLL for (int w = 0; w < W; w++) dx[q][r].at[w] += from.to(w, here + q * a.axis[2].in + r);
		}
		UNROLL for (int q = 0; q < 2; q++, at += a.axis[1].x) {
			if (q < rows)
				set_pair<W, T>(a, at, dx[q][0], dx[q][1], columns);
		}
	}
}

template <class T, int W> FN void average_pool_of(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Unit u = unit(a, e);
		Strides first = image_of<W>(a, u);
		Pack<Calc<T>, W> sum;
		UNROLL for (int w = 0; w < W; w++) sum.at[w] = 0;
		window_of(a, u.i, [&](int32_t i, int32_t j, int32_t k) {
			Pack<T, W> x = adjacent<W, T>(a.x, first.x + x_at(a, i, j, k));
			UNROLL for (int w = 0; w < W; w++) sum.at[w] += (Calc<T>)x.at[w];
		});
		Calc<T> n = (Calc<T>)(counted(a, a.axis[0], u.i[0]) * counted(a, a.axis[1], u.i[1]) * counted(a, a.axis[2], u.i[2]));
		UNROLL for (int w = 0; w < W; w++) sum.at[w] /= n;
		set<W, T>(a.y, first.y + y_at(a, u.i[0], u.i[1], u.i[2]), sum);
	}
}

template <class T, int W> FN void average_pool_grad_of(const Pool &a) {
	EACH(e, (uint32_t)a.n) {
		Unit u = unit(a, e);
		Strides first = image_of<W>(a, u);
		Pack<Calc<T>, W> sum;
		UNROLL for (int w = 0; w < W; w++) sum.at[w] = 0;
		Span p = windows_with(a.axis[0], u.i[0]), q = windows_with(a.axis[1], u.i[1]), r = windows_with(a.axis[2], u.i[2]);
		for (int32_t i = p.first; i <= p.last; i++) {
			int64_t planes = counted(a, a.axis[0], i);
			for (int32_t j = q.first; j <= q.last; j++) {
				int64_t rows = planes * counted(a, a.axis[1], j);
				for (int32_t k = r.first; k <= r.last; k++) {
					Calc<T> n = (Calc<T>)(rows * counted(a, a.axis[2], k));
					Pack<T, W> dy = adjacent<W, T>(a.y, first.y + y_at(a, i, j, k));
					UNROLL for (int w = 0; w < W; w++) sum.at[w] += (Calc<T>)dy.at[w] / n;
				}
			}
		}
		set<W, T>(a.x, first.x + x_at(a, u.i[0], u.i[1], u.i[2]), sum);
	}
}

#define POOL(name) \
	template <class T> FN void name(const Pool &a) { \
		if (a.pack) \
			name##_of<T, 16 / sizeof(T)>(a); \
		else \
			name##_of<T, 1>(a); \
	} \
	FLOATS(name, Pool)
POOL(max_pool)
POOL(max_pool_2x2)
POOL(max_pool_grad)
POOL(max_pool_2x2_grad)
POOL(average_pool)
POOL(average_pool_grad)
#undef POOL
