// One element of many: sums, means and maxima.
#include "types.cuh"

struct Reduce {
	void *y;
	const void *x;
	void *part; // splits × kept, where there are several splits
	double divisor;
	uint64_t kept, over;
	int64_t splits, type, to; // types of x and y where they are integers
	Grid k;                               // of x, y: what stays
	Grid o;                               // of x: what is reduced
};

// Where a reduction begins: as if nothing had been there yet.
template <class T> FN T least() { return -(T)infinity(); }
template <> __device__ __forceinline__ int64_t least<int64_t>() { return (int64_t)1 << 63; }
template <> __device__ __forceinline__ uint64_t least<uint64_t>() { return 0; }
struct Sum : Plus {
	template <class T> static __device__ __forceinline__ T start() { return 0; }
};
struct Max : Larger {
	template <class T> static __device__ __forceinline__ T start() { return least<T>(); }
};

FN double over(double sum, double divisor) { return sum / divisor; }
FN float over(float sum, double divisor) { return sum / (float)divisor; }
FN int64_t over(int64_t sum, double) { return sum; }
FN uint64_t over(uint64_t sum, double) { return sum; }
template <class T> FN void finish(const Reduce &a, uint64_t i, Total<T> sum) {
	put<T>(a.y, places<2>(a.k, i).at[1], over(sum, a.divisor), a.to);
}

// A block reduces for WIDTH neighbouring elements of y: for one with all threads, or for 32
// with 8 each, where x's elements for them are adjacent. Block (·, s) does the s-th split of
// what is reduced.
template <class T, class Op, int WIDTH> FN void reduce(const Reduce &a, uint64_t i) {
	Op join;
	uint64_t chunk = (uint64_t)(a.over + a.splits - 1) / (uint64_t)a.splits, from = blockIdx.y * chunk;
	uint64_t to = a.over - from < chunk ? (uint64_t)a.over : from + chunk;
	Total<T> sum = Op::template start<Total<T>>();
	if (i < a.kept) {
		int64_t x = places<1>(a.k, i).at[0];
		sum = collect<1, Ahead<T>::count>(
		    a.o, from + threadIdx.x / WIDTH, to, 256 / WIDTH, sum, [&](Places<1> p) { return (Total<T>)get<T>(a.x, x + p.at[0], a.type); }, join);
	}
	if (WIDTH == 1) {
		sum = together<256>(sum, join);
	} else {
		__shared__ Total<T> part[256];
		part[threadIdx.x] = sum;
		__syncthreads();
		sum = Op::template start<Total<T>>();
		if (threadIdx.x < WIDTH) {
			UNROLL for (int k = 0; k < 256 / WIDTH; k++) sum = join(sum, part[threadIdx.x + k * WIDTH]);
		}
		__syncthreads();
	}
	if (threadIdx.x >= WIDTH || i >= a.kept)
		return;
	if (a.splits > 1)
		((Total<T> *)a.part)[blockIdx.y * a.kept + i] = sum;
	else
		finish<T>(a, i, sum);
}
template <class T, class Op, int WIDTH> FN void reduce(const Reduce &a) {
	for (uint64_t tile = blockIdx.x; tile * WIDTH < a.kept; tile += gridDim.x)
		reduce<T, Op, WIDTH>(a, tile * WIDTH + threadIdx.x % WIDTH);
}

template <class T, class Op> FN void join_parts(const Reduce &a) {
	Op join;
	EACH(i, (uint32_t)a.kept) {
		Total<T> sum = Op::template start<Total<T>>();
		for (uint32_t s = 0; s < a.splits; s++)
			sum = join(sum, ((const Total<T> *)a.part)[s * a.kept + i]);
		finish<T>(a, i, sum);
	}
}

#define ALL(name) \
	FLOATS(name, Reduce) \
	WHOLES(name, Reduce)
#define REDUCTION(name, Op) \
	template <class T> FN void name(const Reduce &a) { reduce<T, Op, 1>(a); } \
	template <class T> FN void name##_wide(const Reduce &a) { reduce<T, Op, 32>(a); } \
	template <class T> FN void name##_parts(const Reduce &a) { join_parts<T, Op>(a); } \
	ALL(name) \
	ALL(name##_wide) \
	ALL(name##_parts)
REDUCTION(sum, Sum)
REDUCTION(max, Max)
#undef REDUCTION
#undef ALL

struct MaxSlope {
	void *dx;
	const void *x, *y, *dy;
	uint64_t kept, over;
	Grid k; // of dx, x, y, dy: what stays
	Grid o; // of dx, x: what was reduced
};

template <class REAL> FN bool tie(REAL x, REAL y) { return x == y || (x != x && y != y); }

// A block for each element of y.
template <class T> FN void max_slope(const MaxSlope &a) {
	for (uint64_t i = blockIdx.x; i < a.kept; i += gridDim.x) {
		Places<4> p = places<4>(a.k, i);
		Calc<T> top = get<T>(a.y, p.at[2]), dy = get<T>(a.dy, p.at[3]);
		int64_t ties = 0;
		for (uint64_t j = threadIdx.x; j < a.over; j += 256)
			ties += tie(get<T>(a.x, p.at[1] + places<2>(a.o, j).at[1]), top);
		Calc<T> share = dy / (Calc<T>)together<256>(ties, Plus());
		for (uint64_t j = threadIdx.x; j < a.over; j += 256) {
			Places<2> q = places<2>(a.o, j);
			put<T>(a.dx, p.at[0] + q.at[0], tie(get<T>(a.x, p.at[1] + q.at[1]), top) ? share : 0);
		}
	}
}
FLOATS(max_slope, MaxSlope)
