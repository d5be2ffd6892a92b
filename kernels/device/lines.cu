// Softmax, log-softmax, their gradients, argmax and maxima with indices: kernels that compute a line of z along one
// axis from lines of x and y.
#include "math.cuh"

struct Lines {
	void *z;
	const void *x;
	void *y; // an input, or the second result
	int64_t n, step[3], lines, type;
	Grid k; // of z, x, y: the starts of the lines
};

// A line of elements of type T; if T is Whole the launch gives the type.
template <class T> struct Line {
	void *p;
	int64_t at, step, type;
	__device__ __forceinline__ Calc<T> operator[](uint64_t i) const { return get<T>(p, at + i * step, type); }
	template <class V> __device__ __forceinline__ void set(uint64_t i, V v) const { put<T>(p, at + i * step, v, type); }
};

// Element i of the thread's share of a line.
#define ALONG(i) for (uint64_t i = threadIdx.x % LANES; i < n; i += LANES)

struct Softmax {
	template <int LANES, class T> __device__ __forceinline__ void operator()(uint64_t n, Line<T> z, Line<T> x, Line<T>) const {
		Calc<T> top = -(Calc<T>)infinity(), sum = 0;
		ALONG(i) top = Larger()(top, x[i]);
		top = together<LANES>(top, Larger());
		ALONG(i) sum += EXP(x[i] - top);
		sum = together<LANES>(sum, Plus());
		ALONG(i) z.set(i, EXP(x[i] - top) / sum);
	}
};

struct LogSoftmax {
	template <int LANES, class T> __device__ __forceinline__ void operator()(uint64_t n, Line<T> z, Line<T> x, Line<T>) const {
		Calc<T> top = -(Calc<T>)infinity(), sum = 0;
		ALONG(i) top = Larger()(top, x[i]);
		top = together<LANES>(top, Larger());
		ALONG(i) sum += EXP(x[i] - top);
		sum = LOG(together<LANES>(sum, Plus()));
		ALONG(i) z.set(i, x[i] - top - sum);
	}
};

struct SoftmaxGrad {
	template <int LANES, class T> __device__ __forceinline__ void operator()(uint64_t n, Line<T> dx, Line<T> y, Line<T> dy) const {
		Calc<T> sum = 0;
		ALONG(i) sum += y[i] * dy[i];
		sum = together<LANES>(sum, Plus());
		ALONG(i) dx.set(i, y[i] * (dy[i] - sum));
	}
};

struct LogSoftmaxGrad {
	template <int LANES, class T> __device__ __forceinline__ void operator()(uint64_t n, Line<T> dx, Line<T> y, Line<T> dy) const {
		Calc<T> sum = 0;
		ALONG(i) sum += dy[i];
		sum = together<LANES>(sum, Plus());
		ALONG(i) dx.set(i, dy[i] - EXP(y[i]) * sum);
	}
};

// The first NaN, or else the first maximum.
template <int LANES, class T> FN int64_t first_largest(uint64_t n, Line<T> x) {
	Calc<T> top = x[0];
	ALONG(i) top = Larger()(top, x[i]);
	top = together<LANES>(top, Larger());
	int64_t at = (int64_t)n;
	ALONG(i) {
		if ((int64_t)i < at && (x[i] == top || (top != top && x[i] != x[i])))
			at = (int64_t)i;
	}
	return together<LANES>(at, Smaller());
}

struct MaxIndex { // the largest element and its index
	template <int LANES, class T> __device__ __forceinline__ void operator()(uint64_t n, Line<T> z, Line<T> x, Line<int64_t> y) const {
		int64_t at = first_largest<LANES>(n, x);
		if (threadIdx.x % LANES == 0)
			z.set(0, x[at]), y.set(0, at);
	}
};

struct ArgMax {
	template <int LANES, class T> __device__ __forceinline__ void operator()(uint64_t n, Line<int64_t> z, Line<T> x, Line<T>) const {
		int64_t at = first_largest<LANES>(n, x);
		if (threadIdx.x % LANES == 0)
			z.set(0, at);
	}
};

// The number of threads for each line: 32, or the block's 256 for long lines.
template <class T, class Z, class Y, class Op, int LANES> FN void lines(const Lines &a) {
	for (uint64_t line = blockIdx.x * (256 / LANES) + threadIdx.x / LANES; line < (uint64_t)a.lines; line += gridDim.x * (256 / LANES)) {
		Places<3> p = places<3>(a.k, line);
		Line<Z> z = {a.z, p.at[0], a.step[0], a.type};
		Line<T> x = {(void *)a.x, p.at[1], a.step[1], a.type};
		Line<Y> y = {a.y, p.at[2], a.step[2], a.type};
		Op().template operator()<LANES, T>((uint64_t)a.n, z, x, y);
	}
}

#define LINES(name, Z, Y, Op, TYPES) \
	template <class T> FN void name(const Lines &a) { lines<T, Z, Y, Op, 32>(a); } \
	template <class T> FN void name##_long(const Lines &a) { lines<T, Z, Y, Op, 256>(a); } \
	TYPES(name, Lines) \
	TYPES(name##_long, Lines)
LINES(softmax, T, T, Softmax, FLOATS)
LINES(log_softmax, T, T, LogSoftmax, FLOATS)
LINES(softmax_grad, T, T, SoftmaxGrad, FLOATS)
LINES(log_softmax_grad, T, T, LogSoftmaxGrad, FLOATS)
#define ALL(name, Args) FLOATS(name, Args) WHOLES(name, Args)
LINES(argmax, int64_t, T, ArgMax, ALL)
LINES(max_with_index, T, int64_t, MaxIndex, ALL)
#undef ALL
#undef LINES
