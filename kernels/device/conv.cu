// Convolutions; conv.go defines them. Those over one or two axes without groups are implicit matrix
// products: the rows or columns of one factor are the windows of an image (im2col without the copy).
// All others have a thread for each element, conv_direct, or a block for each weight.
#include "product.cuh"
#include "activation.cuh"
#include "call.cuh"

struct Conv {
	void *x, *w, *b, *y;
	void *part, *activated; // act(y) is stored to activated if that is not null; a ReLU may else take the place of y
	Extent e;
	int64_t xs[4], ws[4], ys[4], activated_step[4]; // strides
	int64_t b_step, act;
	uint32_t x_size[2], y_size[2], tap_size[2], stride[2], dilation[2], pad[2], last, unused;
};

struct Pixel {
	uint32_t n, i, j;
};
FN Pixel pixel(uint32_t at, const uint32_t *size) {
	uint32_t row = at / size[1];
	return {row / size[0], row % size[0], at - row * size[1]};
}

// Tap number at of a window, (c, p, q), in the order of the image's memory: columns change fastest, and tap_size is
// Q and P; or channels do if images are channels-last, and tap_size is C and Q.
FN Pixel tap_of(const Conv &a, uint32_t at) {
	uint32_t rest = at / a.tap_size[0], fast = at - rest * a.tap_size[0], slow = rest / a.tap_size[1], between = rest - slow * a.tap_size[1];
	return a.last ? Pixel{fast, slow, between} : Pixel{slow, between, fast};
}

// The windows of x as a matrix: a row for each pixel of y and a column for each tap; 0 on padding.
template <class T> struct Windows {
	const Conv &a;
	__device__ __forceinline__ Place row(uint32_t y) const {
		Pixel to = pixel(y, a.y_size);
		uint32_t i = to.i * a.stride[0] - a.pad[0], j = to.j * a.stride[1] - a.pad[1];
		return {to.n * a.xs[0] + (int32_t)i * a.xs[2] + (int32_t)j * a.xs[3], i, j};
	}
	__device__ __forceinline__ Place deep(uint32_t tap) const {
		Pixel in = tap_of(a, tap);
		uint32_t i = in.i * a.dilation[0], j = in.j * a.dilation[1];
		return {in.n * a.xs[1] + i * a.xs[2] + j * a.xs[3], i, j};
	}
	__device__ __forceinline__ bool holds(Place y, Place tap) const { // below 0 is far above
		return y.i + tap.i < a.x_size[0] && y.j + tap.j < a.x_size[1];
	}
	__device__ __forceinline__ const T *find(Place y, Place tap) const { return element<T>(a.x, y, tap); }
};

// The weights as a matrix: a row for each output channel o and a column for each tap (c, p, q).
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

// The weights as a matrix: a row for each input channel c and a column for each tap (o, p, q).
template <class T> struct Backwards : Weights<T> {
	using Weights<T>::a;
	__device__ __forceinline__ Place row(uint32_t c) const { return {c * a.ws[1], 0, 0}; }
	__device__ __forceinline__ Place deep(uint32_t tap) const {
		Pixel in = tap_of(a, tap);
		return {in.n * a.ws[0] + in.i * a.ws[2] + in.j * a.ws[3], 0, 0};
	}
};

// The gradients of y as a matrix: a row for each pixel of x and a column for each tap (o, p, q). The element is dy of
// channel o at the window in which the pixel is at this tap, 0 if there is none. The coordinates of row and column add
// up to stride times those of y's pixel.
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
		uint32_t i = in.i * a.dilation[0], j = in.j * a.dilation[1];
		return {in.n * a.ys[1] + (dense() ? within(-i, -j) : 0), -i, -j};
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

// dy as a matrix: a row for each channel o and a column for each pixel.
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

// The transpose of Windows: a row for each tap and a column for each pixel of y.
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
		::put<T>(a.y, row + c.at, a.act == OF_RELU && !a.activated && sum < 0 ? 0 : sum);
	}
	enum { ACTIVATES = 1 };
	__device__ __forceinline__ bool activates() const { return a.activated; }
	__device__ __forceinline__ void activate(uint32_t y, uint32_t o) const {
		Pixel to = pixel(y, a.y_size);
		const int64_t *step = a.activated_step;
		Calc<T> z = get<T>(a.y, row(y) + o * a.ys[1]);
		::put<T>(a.activated, to.n * step[0] + o * step[1] + to.i * step[2] + to.j * step[3], activation(a.act, z));
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
	enum { ACTIVATES = 0 };
};
template <class T> struct ToW {
	const Conv &a;
	__device__ __forceinline__ int64_t row(uint32_t tap) const {
		Pixel to = tap_of(a, tap);
		return to.n * a.ws[1] + to.i * a.ws[2] + to.j * a.ws[3];
	}
	__device__ __forceinline__ int64_t column(uint32_t o) const { return o * a.ws[0]; }
	__device__ __forceinline__ void put(int64_t row, int64_t o, Calc<T> sum) const { ::put<T>(a.w, row + o, sum); }
	enum { ACTIVATES = 0 };
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

struct Direct { // directOptions of conv_cuda.go, for three spatial axes
	int64_t stride[3], dilation[3], pad[3], outputs; // outputs of each group
	LongDivisor by_outputs, by_inputs, by_stride[3], by_size[3]; // channels of a group, and spatial axes of y
};
typedef CallWith<Direct> DirectConv;
typedef Position<5> Place5;

FN bool within(int64_t i, int64_t size) { return (uint64_t)i < (uint64_t)size; } // below 0 is far above

// Calls f(at, tap) for the elements of a window, at this position of y, that are inside of x.
template <class F> FN void window_of(const Direct &set, const Array &x, const Array &w, Place5 to, F f) {
	for (int64_t p = 0, i = to.at[2] * set.stride[0] - set.pad[0]; p < w.shape[2]; p++, i += set.dilation[0]) {
		if (!within(i, x.shape[2]))
			continue;
		int64_t plane = i * x.stride[2], taps = p * w.stride[2];
		for (int64_t q = 0, j = to.at[3] * set.stride[1] - set.pad[1]; q < w.shape[3]; q++, j += set.dilation[1]) {
			if (!within(j, x.shape[3]))
				continue;
			int64_t row = plane + j * x.stride[3], tap = taps + q * w.stride[3];
			for (int64_t r = 0, k = to.at[4] * set.stride[2] - set.pad[2]; r < w.shape[4]; r++, k += set.dilation[2], tap += w.stride[4]) {
				if (within(k, x.shape[4]))
					f(row + k * x.stride[4], tap);
			}
		}
	}
}

FN int64_t group_of(int64_t channel, LongDivisor by) { return (int64_t)over((uint64_t)channel, by); }

// y from x, w and perhaps b.
template <class T> FN void conv_direct(const DirectConv &c) {
	const Array &y = c.out[0], &x = c.in[0], &w = c.in[1], &b = c.in[2];
	int64_t inputs = w.shape[1];
	EACH(e, (uint32_t)c.n) {
		Place5 to = position<5>(c, e);
		Calc<T> sum = 0;
		int64_t o = to.at[1], first = to.at[0] * x.stride[0] + group_of(o, c.set.by_outputs) * inputs * x.stride[1], taps = o * w.stride[0];
		for (int64_t ch = 0; ch < inputs; ch++, first += x.stride[1], taps += w.stride[1])
			window_of(c.set, x, w, to, [&](int64_t at, int64_t tap) { sum = fma(get<T>(x.p, first + at), get<T>(w.p, taps + tap), sum); });
		put<T>(y.p, place(y, to), b.p ? sum + get<T>(b.p, o * b.stride[0]) : sum);
	}
}

// The number of the window along an axis that has element at of x at this tap; below 0 if there is none.
FN int64_t window_with(const Direct &set, int axis, int64_t at, int64_t tap) {
	int64_t from = at + set.pad[axis] - tap * set.dilation[axis];
	if (from < 0)
		return -1;
	int64_t window = (int64_t)over((uint64_t)from, set.by_stride[axis]);
	return window * set.stride[axis] == from ? window : -1;
}

// dx from dy and w.
template <class T> FN void conv_grad_x_direct(const DirectConv &c) {
	const Array &x = c.out[0], &y = c.in[0], &w = c.in[1];
	int64_t inputs = w.shape[1];
	EACH(e, (uint32_t)c.n) {
		Place5 to = position<5>(c, e);
		Calc<T> sum = 0;
		int64_t group = group_of(to.at[1], c.set.by_inputs), outputs = c.set.outputs;
		int64_t image = to.at[0] * y.stride[0] + group * outputs * y.stride[1], weights = group * outputs * w.stride[0] + (to.at[1] - group * inputs) * w.stride[1];
		for (int64_t p = 0; p < w.shape[2]; p++) {
			int64_t i = window_with(c.set, 0, to.at[2], p);
			if (!within(i, y.shape[2]))
				continue;
			for (int64_t q = 0; q < w.shape[3]; q++) {
				int64_t j = window_with(c.set, 1, to.at[3], q);
				if (!within(j, y.shape[3]))
					continue;
				for (int64_t r = 0; r < w.shape[4]; r++) {
					int64_t k = window_with(c.set, 2, to.at[4], r);
					if (!within(k, y.shape[4]))
						continue;
					int64_t at = image + i * y.stride[2] + j * y.stride[3] + k * y.stride[4], tap = weights + p * w.stride[2] + q * w.stride[3] + r * w.stride[4];
					for (int64_t o = 0; o < outputs; o++, at += y.stride[1], tap += w.stride[0])
						sum = fma(get<T>(y.p, at), get<T>(w.p, tap), sum);
				}
			}
		}
		put<T>(x.p, place(x, to), sum);
	}
}

// dw from x and dy, by a block for each weight.
template <class T> FN void conv_grad_w_direct(const DirectConv &c) {
	const Array &w = c.out[0], &x = c.in[0], &y = c.in[1];
	int64_t inputs = w.shape[1];
	uint64_t positions = (uint64_t)(y.shape[0] * y.shape[2]) * (uint64_t)(y.shape[3] * y.shape[4]);
	for (uint32_t e = blockIdx.x; e < (uint32_t)c.n; e += gridDim.x) {
		Place5 tap = position<5>(c, e);
		int64_t o = tap.at[0], ch = group_of(o, c.set.by_outputs) * inputs + tap.at[1];
		Total<T> sum = 0;
		for (uint64_t n = threadIdx.x; n < positions; n += 256) {
			uint64_t rows = over(n, c.set.by_size[2]), planes = over(rows, c.set.by_size[1]), images = over(planes, c.set.by_size[0]);
			Place5 to = {(int64_t)images, o, (int64_t)(planes - images * y.shape[2]), (int64_t)(rows - planes * y.shape[3]), (int64_t)(n - rows * y.shape[4])};
			int64_t i = to.at[2] * c.set.stride[0] + tap.at[2] * c.set.dilation[0] - c.set.pad[0];
			int64_t j = to.at[3] * c.set.stride[1] + tap.at[3] * c.set.dilation[1] - c.set.pad[1];
			int64_t k = to.at[4] * c.set.stride[2] + tap.at[4] * c.set.dilation[2] - c.set.pad[2];
			if (within(i, x.shape[2]) && within(j, x.shape[3]) && within(k, x.shape[4]))
				sum = fma((Total<T>)get<T>(x.p, place(x, Place5{to.at[0], ch, i, j, k})), (Total<T>)get<T>(y.p, place(y, to)), sum);
		}
		sum = together<256>(sum, Plus());
		if (threadIdx.x == 0)
			put<T>(w.p, place(w, tap), sum);
	}
}

FLOATS(conv_direct, DirectConv)
FLOATS(conv_grad_x_direct, DirectConv)
FLOATS(conv_grad_w_direct, DirectConv)
