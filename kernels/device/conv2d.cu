// Convolutions as products of matrices that are never made: one's rows or columns are the
// windows of an image. What they mean, says conv2d.go.
#include "product.cuh"

struct Conv {
	void *x, *w, *b, *y;
	void *part;
	Extent e;
	int64_t xs[4], ws[4], ys[4]; // strides
	int64_t b_step, relu;
	uint32_t x_size[2], y_size[2], tap_size[2], stride[2], pad[2], last, unused;
};

struct Pixel {
	uint32_t n, i, j;
};
FN Pixel pixel(uint32_t at, const uint32_t *size) {
	uint32_t row = at / size[1];
	return {row / size[0], row % size[0], at - row * size[1]};
}

// A tap (c, p, q) of all, in the order that its image has: along rows of windows, of tap_size Q and
// P, or for images that lie channels-last along channels, of tap_size C and Q.
FN Pixel tap_of(const Conv &a, uint32_t at) {
	uint32_t rest = at / a.tap_size[0], fast = at - rest * a.tap_size[0], slow = rest / a.tap_size[1], between = rest - slow * a.tap_size[1];
	return a.last ? Pixel{fast, slow, between} : Pixel{slow, between, fast};
}

// x at tap (c, p, q) of the window of y's pixel; 0 where it falls on padding.
template <class T> struct Windows {
	const Conv &a;
	__device__ __forceinline__ T operator()(uint32_t y, uint32_t tap) const {
		Pixel to = pixel(y, a.y_size), in = tap_of(a, tap);
		uint32_t i = to.i * a.stride[0] + in.i - a.pad[0], j = to.j * a.stride[1] + in.j - a.pad[1];
		if (i >= a.x_size[0] || j >= a.x_size[1]) // below 0 is far above
			return T(0.f);
		return ((const T *)a.x)[to.n * a.xs[0] + in.n * a.xs[1] + i * a.xs[2] + j * a.xs[3]];
	}
};
// w of output o at tap (c, p, q), as a matrix (tap, o).
template <class T> struct Weights {
	const Conv &a;
	__device__ __forceinline__ T operator()(uint32_t tap, uint32_t o) const {
		Pixel in = tap_of(a, tap);
		return ((const T *)a.w)[o * a.ws[0] + in.n * a.ws[1] + in.i * a.ws[2] + in.j * a.ws[3]];
	}
};

// w of channel c at tap (o, p, q), as a matrix (tap, c).
template <class T> struct Backwards {
	const Conv &a;
	__device__ __forceinline__ T operator()(uint32_t tap, uint32_t c) const {
		Pixel in = tap_of(a, tap);
		return ((const T *)a.w)[in.n * a.ws[0] + c * a.ws[1] + in.i * a.ws[2] + in.j * a.ws[3]];
	}
};

// dy of channel o where x's pixel was tap (p, q) of the window; 0 where that is nowhere.
template <class T> struct Slopes {
	const Conv &a;
	__device__ __forceinline__ T operator()(uint32_t x, uint32_t tap) const {
		Pixel from = pixel(x, a.x_size), in = tap_of(a, tap);
		uint32_t i = from.i + a.pad[0] - in.i, j = from.j + a.pad[1] - in.j;
		uint32_t oi = i / a.stride[0], oj = j / a.stride[1];
		if (i != oi * a.stride[0] || j != oj * a.stride[1] || oi >= a.y_size[0] || oj >= a.y_size[1])
			return T(0.f);
		return ((const T *)a.y)[from.n * a.ys[0] + in.n * a.ys[1] + oi * a.ys[2] + oj * a.ys[3]];
	}
};

// dy as a matrix (o, pixel).
template <class T> struct Rows {
	const Conv &a;
	__device__ __forceinline__ T operator()(uint32_t o, uint32_t y) const {
		Pixel at = pixel(y, a.y_size);
		return ((const T *)a.y)[at.n * a.ys[0] + o * a.ys[1] + at.i * a.ys[2] + at.j * a.ys[3]];
	}
};

template <class T> struct ToY {
	const Conv &a;
	__device__ __forceinline__ void operator()(uint32_t y, uint32_t o, Calc<T> sum) const {
		Pixel to = pixel(y, a.y_size);
		if (a.b)
			sum += get<T>(a.b, o * a.b_step);
		put<T>(a.y, to.n * a.ys[0] + o * a.ys[1] + to.i * a.ys[2] + to.j * a.ys[3], a.relu && sum < 0 ? 0 : sum);
	}
};
template <class T> struct ToX {
	const Conv &a;
	__device__ __forceinline__ void operator()(uint32_t x, uint32_t c, Calc<T> sum) const {
		Pixel to = pixel(x, a.x_size);
		put<T>(a.x, to.n * a.xs[0] + c * a.xs[1] + to.i * a.xs[2] + to.j * a.xs[3], sum);
	}
};
template <class T> struct ToW {
	const Conv &a;
	__device__ __forceinline__ void operator()(uint32_t o, uint32_t tap, Calc<T> sum) const {
		Pixel to = tap_of(a, tap);
		put<T>(a.w, o * a.ws[0] + to.n * a.ws[1] + to.i * a.ws[2] + to.j * a.ws[3], sum);
	}
};

#define CONV(name, WIDE) \
	template <class T> FN void conv##name(const Conv &a) { \
		multiply<WIDE, T>(a.e, blockIdx.x * 64, blockIdx.y * 16 * WIDE, blockIdx.z, a.part, Windows<T>{a}, Weights<T>{a}, ToY<T>{a}); \
	} \
	template <class T> FN void conv_grad_x##name(const Conv &a) { \
		multiply<WIDE, T>(a.e, blockIdx.x * 64, blockIdx.y * 16 * WIDE, blockIdx.z, a.part, Slopes<T>{a}, Backwards<T>{a}, ToX<T>{a}); \
	} \
	template <class T> FN void conv_grad_w##name(const Conv &a) { \
		multiply<WIDE, T>(a.e, blockIdx.x * 64, blockIdx.y * 16 * WIDE, blockIdx.z, a.part, Rows<T>{a}, Windows<T>{a}, ToW<T>{a}); \
	} \
	FLOATS(conv##name, Conv) \
	FLOATS(conv_grad_x##name, Conv) \
	FLOATS(conv_grad_w##name, Conv)
CONV(, 4)
CONV(_thin, 1)
#undef CONV

template <class T> FN void conv_grad_w_splits(const Conv &a) { add_splits<T>(a.e, a.part, ToW<T>{a}); }
FLOATS(conv_grad_w_splits, Conv)
