// One element of many: sums, means and maxima, added up as doubles.
#include "dialect.cuh"

struct Reduce {
	void *y;
	const void *x;
	double *part; // splits × kept, where there are several splits
	double divisor;
	int64_t kept, over, splits;
	Grid k; // of x, y: what stays
	Grid o; // of x: what is reduced
};

struct Sum {
	static constexpr double start = 0;
	Plus join;
};
struct Max {
	static constexpr double start = -__builtin_inf();
	Larger join;
};

template <class REAL> FN void finish(const Reduce &a, uint32_t i, double sum) {
	((REAL *)a.y)[places<2>(a.k, i).at[1]] = (REAL)(sum / a.divisor);
}

// A block reduces for WIDTH neighbouring elements of y: for one with all threads, or for 32
// with 8 each, where x's elements for them are adjacent. Block (·, s) does the s-th split of
// what is reduced.
template <class REAL, class Op, int WIDTH> FN void reduce(const Reduce &a) {
	Op op;
	uint32_t i = blockIdx.x * WIDTH + threadIdx.x % WIDTH;
	uint32_t chunk = (uint32_t)((a.over + a.splits - 1) / a.splits), from = blockIdx.y * chunk;
	uint32_t to = a.over - from < chunk ? (uint32_t)a.over : from + chunk;
	double sum = Op::start;
	if (i < a.kept) {
		const REAL *x = (const REAL *)a.x + places<1>(a.k, i).at[0];
		for (uint32_t j = from + threadIdx.x / WIDTH; j < to; j += 256 / WIDTH)
			sum = op.join(sum, (double)x[places<1>(a.o, j).at[0]]);
	}
	if (WIDTH == 1) {
		sum = together<256>(sum, op.join);
	} else {
		__shared__ double part[256];
		part[threadIdx.x] = sum;
		__syncthreads();
		sum = Op::start;
		if (threadIdx.x < WIDTH) {
			UNROLL for (int k = 0; k < 256 / WIDTH; k++) sum = op.join(sum, part[threadIdx.x + k * WIDTH]);
		}
	}
	if (threadIdx.x >= WIDTH || i >= a.kept)
		return;
	if (a.splits > 1)
		a.part[blockIdx.y * a.kept + i] = sum;
	else
		finish<REAL>(a, i, sum);
}

template <class REAL, class Op> FN void join_parts(const Reduce &a) {
	Op op;
	EACH(i, (uint32_t)a.kept) {
		double sum = Op::start;
		for (uint32_t s = 0; s < a.splits; s++)
			sum = op.join(sum, a.part[s * a.kept + i]);
		finish<REAL>(a, i, sum);
	}
}

#define REDUCTION(name, Op) \
	template <class REAL> FN void name(const Reduce &a) { reduce<REAL, Op, 1>(a); } \
	template <class REAL> FN void name##_wide(const Reduce &a) { reduce<REAL, Op, 32>(a); } \
	template <class REAL> FN void name##_parts(const Reduce &a) { join_parts<REAL, Op>(a); } \
	BOTH(name, Reduce) \
	BOTH(name##_wide, Reduce) \
	BOTH(name##_parts, Reduce)
REDUCTION(sum, Sum)
REDUCTION(max, Max)
#undef REDUCTION

struct MaxSlope {
	void *dx;
	const void *x, *y, *dy;
	int64_t kept, over;
	Grid k; // of dx, x, y, dy: what stays
	Grid o; // of dx, x: what was reduced
};

template <class REAL> FN bool tie(REAL x, REAL y) { return x == y || (x != x && y != y); }

// A block for each element of y.
template <class REAL> FN void max_slope(const MaxSlope &a) {
	for (uint32_t i = blockIdx.x; i < a.kept; i += gridDim.x) {
		Places<4> p = places<4>(a.k, i);
		REAL top = ((const REAL *)a.y)[p.at[2]], dy = ((const REAL *)a.dy)[p.at[3]];
		int ties = 0;
		for (uint32_t j = threadIdx.x; j < a.over; j += 256)
			ties += tie(((const REAL *)a.x)[p.at[1] + places<2>(a.o, j).at[1]], top);
		REAL share = dy / (REAL)together<256>(ties, Plus());
		for (uint32_t j = threadIdx.x; j < a.over; j += 256) {
			Places<2> q = places<2>(a.o, j);
			((REAL *)a.dx)[p.at[0] + q.at[0]] = tie(((const REAL *)a.x)[p.at[1] + q.at[1]], top) ? share : 0;
		}
	}
}
BOTH(max_slope, MaxSlope)
