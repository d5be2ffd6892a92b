// Convolutions as implicit matrix products: the rows or columns of one factor are the windows of an
// image (im2col without the copy). conv2d.go defines them.
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

// Taps, and pixels of y whose windows they are of: x(y, tap), or 0 where that falls on padding.
template <class T> struct Windows {
	const Conv &a;
	__device__ __forceinline__ Place row(uint32_t y) const {
		Pixel to = pixel(y, a.y_size);
		uint32_t i = to.i * a.stride[0] - a.pad[0], j = to.j * a.stride[1] - a.pad[1];
		return {to.n * a.xs[0] + (int32_t)i * a.xs[2] + (int32_t)j * a.xs[3], i, j};
	}
	__device__ __forceinline__ Place deep(uint32_t tap) const {
		Pixel in = tap_of(a, tap);
		return {in.n * a.xs[1] + in.i * a.xs[2] + in.j * a.xs[3], in.i, in.j};
	}
	__device__ __forceinline__ bool holds(Place y, Place tap) const { // below 0 is far above
		return y.i + tap.i < a.x_size[0] && y.j + tap.j < a.x_size[1];
	}
	__device__ __forceinline__ const T *find(Place y, Place tap) const { return element<T>(a.x, y, tap); }
};

// w of output o at tap (c, p, q).
template <class T> struct Weights {
	const Conv &a;
	__device__ __forceinline__ Place row(uint32_t o) const { return {o * a.ws[0], 0, 0}; }
	__device__ __forceinline__ Place deep(uint32_t tap) const {
		Pixel in = tap_of(a, tap);
		return {in.n * a.ws[1] + in.i * a.ws[2] + in.j * a.ws[3], 0, 0};
	}
	__device__ __forceinline__ bool holds(Place o, Place tap) const { return !(o.i | tap.j); }
	__device__ __forceinline__ const T *find(Place o, Place tap) const { return element<T>(a.w, o, tap); }
};

// w of channel c at tap (o, p, q).
template <class T> struct Backwards : Weights<T> {
	using Weights<T>::a;
	__device__ __forceinline__ Place row(uint32_t c) const { return {c * a.ws[1], 0, 0}; }
	__device__ __forceinline__ Place deep(uint32_t tap) const {
		Pixel in = tap_of(a, tap);
		return {in.n * a.ws[0] + in.i * a.ws[2] + in.j * a.ws[3], 0, 0};
	}
};

// dy of channel o where x's pixel was tap (p, q) of the window; 0 where that is nowhere. A pixel's place and a tap's
// add up to that of y's pixel, stride times over.
template <class T> struct Gradients {
	const Conv &a;
	__device__ __forceinline__ bool dense() const { return a.stride[0] == 1 && a.stride[1] == 1; }
	__device__ __forceinline__ int64_t within(uint32_t i, uint32_t j) const { return (int32_t)i * a.ys[2] + (int32_t)j * a.ys[3]; }
	__device__ __forceinline__ Place row(uint32_t x) const {
		Pixel from = pixel(x, a.x_size);
		uint32_t i = from.i + a.pad[0], j = from.j + a.pad[1];
		return {from.n * a.ys[0] + (dense() ? within(i, j) : 0), i, j};
	}
	__device__ __forceinline__ Place deep(uint32_t tap) const {
		Pixel in = tap_of(a, tap);
		return {in.n * a.ys[1] + (dense() ? within(-in.i, -in.j) : 0), -in.i, -in.j};
	}
	__device__ __forceinline__ bool holds(Place x, Place tap) const {
		uint32_t i = x.i + tap.i, j = x.j + tap.j;
		return i < a.y_size[0] * a.stride[0] && j < a.y_size[1] * a.stride[1] && (dense() || (i % a.stride[0] == 0 && j % a.stride[1] == 0));
	}
	__device__ __forceinline__ const T *find(Place x, Place tap) const {
		const T *p = element<T>(a.y, x, tap);
		return dense() ? p : p + within((x.i + tap.i) / a.stride[0], (x.j + tap.j) / a.stride[1]);
	}
};

// dy of channel o at a pixel.
template <class T> struct Outputs {
	const Conv &a;
	__device__ __forceinline__ Place row(uint32_t o) const { return {o * a.ys[1], 0, 0}; }
	__device__ __forceinline__ Place deep(uint32_t y) const {
		Pixel at = pixel(y, a.y_size);
		return {at.n * a.ys[0] + at.i * a.ys[2] + at.j * a.ys[3], 0, 0};
	}
	__device__ __forceinline__ bool holds(Place o, Place y) const { return !(o.i | y.j); }
	__device__ __forceinline__ const T *find(Place o, Place y) const { return element<T>(a.y, o, y); }
};

// Windows whose taps are rows, and pixels what is summed over.
template <class T> struct Turned : Windows<T> {
	__device__ __forceinline__ Place row(uint32_t tap) const { return Windows<T>::deep(tap); }
	__device__ __forceinline__ Place deep(uint32_t y) const { return Windows<T>::row(y); }
};

template <class T> struct ToY {
	const Conv &a;
	struct Column {
		int64_t at;
		Calc<T> bias;
	};
	__device__ __forceinline__ int64_t row(uint32_t y) const {
		Pixel to = pixel(y, a.y_size);
		return to.n * a.ys[0] + to.i * a.ys[2] + to.j * a.ys[3];
	}
	__device__ __forceinline__ Column column(uint32_t o) const { return {o * a.ys[1], a.b ? get<T>(a.b, o * a.b_step) : 0}; }
	__device__ __forceinline__ void put(int64_t row, Column c, Calc<T> sum) const {
		if (a.b)
			sum += c.bias;
		::put<T>(a.y, row + c.at, a.relu && sum < 0 ? 0 : sum);
	}
};
template <class T> struct ToX {
	const Conv &a;
	__device__ __forceinline__ int64_t row(uint32_t x) const {
		Pixel to = pixel(x, a.x_size);
		return to.n * a.xs[0] + to.i * a.xs[2] + to.j * a.xs[3];
	}
	__device__ __forceinline__ int64_t column(uint32_t c) const { return c * a.xs[1]; }
	__device__ __forceinline__ void put(int64_t row, int64_t c, Calc<T> sum) const { ::put<T>(a.x, row + c, sum); }
};
template <class T> struct ToW {
	const Conv &a;
	__device__ __forceinline__ int64_t row(uint32_t tap) const {
		Pixel to = tap_of(a, tap);
		return to.n * a.ws[1] + to.i * a.ws[2] + to.j * a.ws[3];
	}
	__device__ __forceinline__ int64_t column(uint32_t o) const { return o * a.ws[0]; }
	__device__ __forceinline__ void put(int64_t row, int64_t o, Calc<T> sum) const { ::put<T>(a.w, row + o, sum); }
};

#define CONV(name, TALL, WIDE) \
	template <class T> FN void conv##name(const Conv &a) { \
		multiply<TALL, WIDE, T>(a.e, blockIdx.z, a.part, Windows<T>{a}, Weights<T>{a}, ToY<T>{a}); \
	} \
	template <class T> FN void conv_grad_x##name(const Conv &a) { \
		multiply<TALL, WIDE, T>(a.e, blockIdx.z, a.part, Gradients<T>{a}, Backwards<T>{{a}}, ToX<T>{a}); \
	} \
	template <class T> FN void conv_grad_w##name(const Conv &a) { \
		multiply<TALL, WIDE, T>(a.e, blockIdx.z, a.part, Turned<T>{{a}}, Outputs<T>{a}, ToW<T>{a}); \
	} \
	PRODUCTS(conv##name, Conv) \
	PRODUCTS(conv_grad_x##name, Conv) \
	PRODUCTS(conv_grad_w##name, Conv)
CONV(, 2, 2)
CONV(_thin, 4, 1)
#undef CONV

template <class T> FN void conv_grad_w_splits(const Conv &a) { add_splits<T>(a.e, a.part, ToW<T>{a}); }
FLOATS(conv_grad_w_splits, Conv)
