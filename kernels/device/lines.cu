// The softmax family and argmax: kernels that compute a line of z from lines of x and y.
#include "math.cuh"

struct Lines {
	void *z;
	const void *x, *y;
	int64_t n, step[3], lines;
	Grid k; // of z, x, y: where their lines start
};

template <class REAL> struct Line {
	REAL *p;
	int64_t step;
	__device__ __forceinline__ REAL &operator[](uint32_t i) const { return p[i * step]; }
};

// Element i of a thread's share of a line.
#define ALONG(i) for (uint32_t i = threadIdx.x % LANES; i < n; i += LANES)

struct Softmax {
	template <int LANES, class REAL> __device__ __forceinline__ void operator()(uint32_t n, Line<REAL> z, Line<const REAL> x, Line<const REAL>) const {
		REAL top = -(REAL)__builtin_inff(), sum = 0;
		ALONG(i) top = Larger()(top, x[i]);
		top = together<LANES>(top, Larger());
		ALONG(i) sum += z[i] = EXP(x[i] - top);
		sum = together<LANES>(sum, Plus());
		ALONG(i) z[i] = z[i] / sum;
	}
};

struct LogSoftmax {
	template <int LANES, class REAL> __device__ __forceinline__ void operator()(uint32_t n, Line<REAL> z, Line<const REAL> x, Line<const REAL>) const {
		REAL top = -(REAL)__builtin_inff(), sum = 0;
		ALONG(i) top = Larger()(top, x[i]);
		top = together<LANES>(top, Larger());
		ALONG(i) sum += EXP(x[i] - top);
		sum = LOG(together<LANES>(sum, Plus()));
		ALONG(i) z[i] = x[i] - top - sum;
	}
};

struct SoftmaxSlope {
	template <int LANES, class REAL> __device__ __forceinline__ void operator()(uint32_t n, Line<REAL> dx, Line<const REAL> y, Line<const REAL> dy) const {
		REAL sum = 0;
		ALONG(i) sum += y[i] * dy[i];
		sum = together<LANES>(sum, Plus());
		ALONG(i) dx[i] = y[i] * (dy[i] - sum);
	}
};

struct LogSoftmaxSlope {
	template <int LANES, class REAL> __device__ __forceinline__ void operator()(uint32_t n, Line<REAL> dx, Line<const REAL> y, Line<const REAL> dy) const {
		REAL sum = 0;
		ALONG(i) sum += dy[i];
		sum = together<LANES>(sum, Plus());
		ALONG(i) dx[i] = dy[i] - EXP(y[i]) * sum;
	}
};

// The first NaN, or else the first of the largest.
struct Smaller {
	__device__ __forceinline__ int operator()(int x, int y) const { return x < y ? x : y; }
};
template <int LANES, class REAL> FN int first_largest(uint32_t n, Line<const REAL> x) {
	REAL top = -(REAL)__builtin_inff();
	ALONG(i) top = Larger()(top, x[i]);
	top = together<LANES>(top, Larger());
	int at = (int)n;
	ALONG(i) {
		if ((int)i < at && (x[i] == top || (top != top && x[i] != x[i])))
			at = (int)i;
	}
	return together<LANES>(at, Smaller());
}

struct ArgMax {
	template <int LANES, class REAL> __device__ __forceinline__ void operator()(uint32_t n, Line<int64_t> z, Line<const REAL> x, Line<const REAL>) const {
		int at = first_largest<LANES>(n, x);
		if (threadIdx.x % LANES == 0)
			*z.p = at;
	}
};

// So many lanes for each line: 32, or the block's 256 where lines are long.
template <class REAL, class Z, class Op, int LANES> FN void lines(const Lines &a) {
	for (uint32_t line = blockIdx.x * (256 / LANES) + threadIdx.x / LANES; line < a.lines; line += gridDim.x * (256 / LANES)) {
		Places<3> p = places<3>(a.k, line);
		Line<Z> z = {(Z *)a.z + p.at[0], a.step[0]};
		Line<const REAL> x = {(const REAL *)a.x + p.at[1], a.step[1]}, y = {(const REAL *)a.y + p.at[2], a.step[2]};
		Op().template operator()<LANES>((uint32_t)a.n, z, x, y);
	}
}

#define LINES(name, Z, Op) \
	template <class REAL> FN void name(const Lines &a) { lines<REAL, Z, Op, 32>(a); } \
	template <class REAL> FN void name##_long(const Lines &a) { lines<REAL, Z, Op, 256>(a); } \
	BOTH(name, Lines) \
	BOTH(name##_long, Lines)
LINES(softmax, REAL, Softmax)
LINES(log_softmax, REAL, LogSoftmax)
LINES(softmax_slope, REAL, SoftmaxSlope)
LINES(log_softmax_slope, REAL, LogSoftmaxSlope)
LINES(argmax, int64_t, ArgMax)
#undef LINES
