// Reductions: sums, means, extremes and sums of squares.
#include "types.cuh"

struct Reduce {
	void *y;
	const void *x, *m; // m, of y's shape, may be NULL
	void *part;        // partial results, kept × splits, if there are several splits
	double divisor;
	uint64_t kept, over, splits, chunk; // a split reduces chunk elements, the last one the remainder
	int64_t type, to;                   // types of x and y, if they are integers
	Grid k;                             // of x, y, m: the axes that are kept
	Grid o;                             // of x: the axes that are reduced
};

// The neutral element of a reduction.
template <class T> FN T least() { return -(T)infinity(); }
template <> __device__ __forceinline__ int64_t least<int64_t>() { return (int64_t)1 << 63; }
template <> __device__ __forceinline__ uint64_t least<uint64_t>() { return 0; }
template <class T> FN T most() { return infinity(); }
template <> __device__ __forceinline__ int64_t most<int64_t>() { return ~((int64_t)1 << 63); }
template <> __device__ __forceinline__ uint64_t most<uint64_t>() { return ~(uint64_t)0; }
struct Least { // NaN is the least
	template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return ((x < y) | (x != x)) ? x : y; }
};
// What an element counts for, where m is a number for each result.
struct Itself {
	enum { takes_m = 0 };
	template <class T> static __device__ __forceinline__ T counts(T x, T) { return x; }
};
struct Sum : Plus, Itself {
	template <class T> static __device__ __forceinline__ T start() { return 0; }
};
struct Max : Larger, Itself {
	template <class T> static __device__ __forceinline__ T start() { return least<T>(); }
};
struct Min : Least, Itself {
	template <class T> static __device__ __forceinline__ T start() { return most<T>(); }
};
struct Squares : Plus {
	enum { takes_m = 1 };
	template <class T> static __device__ __forceinline__ T counts(T x, T m) { return (x - m) * (x - m); }
	template <class T> static __device__ __forceinline__ T start() { return 0; }
};
template <class T, class Op> FN Calc<T> center(const Reduce &a, uint64_t i) {
	if (Op::takes_m && a.m)
		return get<T>(a.m, places<3>(a.k, i).at[2]);
	return 0;
}

FN double over(double sum, double divisor) { return sum / divisor; }
FN float over(float sum, double divisor) { return sum / (float)divisor; }
FN int64_t over(int64_t sum, double) { return sum; }
FN uint64_t over(uint64_t sum, double) { return sum; }
template <class T> FN void finish(const Reduce &a, uint64_t i, Total<T> sum) {
	put<T>(a.y, places<2>(a.k, i).at[1], over(sum, a.divisor), a.to);
}

template <class T> FN void settle(const Reduce &a, uint64_t i, Total<T> sum) {
	if (a.splits > 1)
		((Total<T> *)a.part)[i * a.splits + blockIdx.y] = sum;
	else
		finish<T>(a, i, sum);
}
// The end of this block's split.
FN uint64_t end(const Reduce &a) {
	uint64_t end = ((uint64_t)blockIdx.y + 1) * a.chunk;
	return end < a.over ? end : a.over;
}

// LANES threads for each element of y: packs first, then single elements.
template <class T, class Op, int LANES> FN void reduce_rows(const Reduce &a) {
	enum { W = Packs<T>::wide };
	Op join;
	uint64_t from = blockIdx.y * a.chunk, to = end(a), left = a.o.pack == W ? from + (to - from) / W * W : from, lane = threadIdx.x % LANES;
	for (uint64_t i = blockIdx.x * (256 / LANES) + threadIdx.x / LANES; i < a.kept; i += gridDim.x * (256 / LANES)) {
		int64_t x = places<1>(a.k, i).at[0];
		Total<T> m = center<T, Op>(a, i);
		Total<T> sum = Op::template start<Total<T>>();
		auto take = [&](auto pack, Places<1> p) { return Packs<T>::template load<decltype(pack)::count>(a.o, 0, a.x, x + p.at[0], a.type); };
		auto give = [&](auto pack, auto got) {
			UNROLL for (int k = 0; k < decltype(pack)::count; k++) sum = join(sum, Op::counts((Total<T>)(Calc<T>)got.at[k], m));
		};
		share<1, W, Packs<T>::ahead>(a.o, from + lane * W, left, (uint64_t)LANES * W, take, give);
		share<1, 1, 1>(a.o, left + lane, to, (uint64_t)LANES, take, give);
		sum = together<LANES>(sum, join);
		if (lane == 0)
			settle<T>(a, i, sum);
	}
}

// A block for 32 adjacent elements of y whose elements in x are adjacent too. A thread reads W of them
// from every ROWS-th row.
template <class T, class Op> FN void reduce_columns(const Reduce &a, uint64_t tile) {
	enum { W = Packs<T>::across, LANES = 32 / W, ROWS = 256 / LANES };
	typedef Pack<Total<T>, W> Sums;
	Op join;
	uint32_t lane = threadIdx.x % LANES, row = threadIdx.x / LANES;
	int64_t x[W];
	Sums sum, m;
	uint64_t first = tile * 32 + lane * W;
	first = first < a.kept ? first : 0; // results beyond the last column are not used
	UNROLL for (int k = 0; k < W; k++) {
		x[k] = places<1>(a.k, first + k < a.kept ? first + k : first).at[0];
		sum.at[k] = Op::template start<Total<T>>();
		m.at[k] = center<T, Op>(a, first + k < a.kept ? first + k : first);
	}
	auto take = [&](auto, Places<1> p) {
		Pack<typename Packs<T>::held, W> got;
		if (W > 1 && a.k.rows & 1)
			got = row_of<W>((const typename Packs<T>::held *)a.x + x[0] + p.at[0]);
		else
			UNROLL for (int k = 0; k < W; k++) got.at[k] = Packs<T>::template load<1>(a.o, 0, a.x, x[k] + p.at[0], a.type).at[0];
		return got;
	};
	auto give = [&](auto, auto got) {
		UNROLL for (int k = 0; k < W; k++) sum.at[k] = join(sum.at[k], Op::counts((Total<T>)(Calc<T>)got.at[k], m.at[k]));
	};
	share<1, 1, 2>(a.o, blockIdx.y * a.chunk + row, end(a), (uint64_t)ROWS, take, give);

	__shared__ Total<T> part[W][256 + LANES]; // padded, so that the sums below read different banks
	UNROLL for (int k = 0; k < W; k++) part[k][threadIdx.x] = sum.at[k];
	__syncthreads();
	if (threadIdx.x < 32) {
		Total<T> all = Op::template start<Total<T>>();
		for (int r = 0; r < ROWS; r++)
			all = join(all, part[threadIdx.x / LANES][r * LANES + threadIdx.x % LANES]);
		uint64_t i = tile * 32 + threadIdx.x % LANES * W + threadIdx.x / LANES;
		if (i < a.kept)
			settle<T>(a, i, all);
	}
	__syncthreads();
}

// A block for each element of y combines its splits.
template <class T, class Op> FN void join_parts(const Reduce &a) {
	Op join;
	for (uint64_t i = blockIdx.x; i < a.kept; i += gridDim.x) {
		Total<T> sum = Op::template start<Total<T>>();
		for (uint32_t s = threadIdx.x; s < a.splits; s += 256)
			sum = join(sum, ((const Total<T> *)a.part)[i * a.splits + s]);
		sum = together<256>(sum, join);
		if (threadIdx.x == 0)
			finish<T>(a, i, sum);
	}
}

#define ALL(name) \
	FLOATS(name, Reduce) \
	WHOLES(name, Reduce)
#define REAL(name) FLOATS(name, Reduce)
#define REDUCTION(name, Op, ALL) \
	template <class T> FN void name(const Reduce &a) { reduce_rows<T, Op, 256>(a); } \
	template <class T> FN void name##_short(const Reduce &a) { reduce_rows<T, Op, 32>(a); } \
	template <class T> FN void name##_columns(const Reduce &a) { \
		for (uint64_t tile = blockIdx.x; tile * 32 < a.kept; tile += gridDim.x) \
			reduce_columns<T, Op>(a, tile); \
	} \
	template <class T> FN void name##_parts(const Reduce &a) { join_parts<T, Op>(a); } \
	ALL(name) \
	ALL(name##_short) \
	ALL(name##_columns) \
	ALL(name##_parts)
REDUCTION(sum, Sum, ALL)
REDUCTION(max, Max, ALL)
REDUCTION(min, Min, ALL)
REDUCTION(squares, Squares, REAL)
#undef REDUCTION
#undef REAL
#undef ALL

struct MaxGrad {
	void *dx;
	const void *x, *y, *dy;
	uint64_t kept, over;
	Grid k; // of dx, x, y, dy: the axes that are kept
	Grid o; // of dx, x: the axes that were reduced
};

template <class REAL> FN bool tie(REAL x, REAL y) { return x == y || (x != x && y != y); }

// A block, or a warp, for each element of y.
template <int LANES, class T> FN void max_grad_by(const MaxGrad &a) {
	for (uint64_t i = blockIdx.x * (256 / LANES) + threadIdx.x / LANES; i < a.kept; i += gridDim.x * (256 / LANES)) {
		Places<4> p = places<4>(a.k, i);
		Calc<T> top = get<T>(a.y, p.at[2]), dy = get<T>(a.dy, p.at[3]);
		int64_t ties = 0;
		for (uint64_t j = threadIdx.x % LANES; j < a.over; j += LANES)
			ties += tie(get<T>(a.x, p.at[1] + places<2>(a.o, j).at[1]), top);
		Calc<T> share = dy / (Calc<T>)together<LANES>(ties, Plus());
		for (uint64_t j = threadIdx.x % LANES; j < a.over; j += LANES) {
			Places<2> q = places<2>(a.o, j);
			put<T>(a.dx, p.at[0] + q.at[0], tie(get<T>(a.x, p.at[1] + q.at[1]), top) ? share : 0);
		}
	}
}
template <class T> FN void max_grad(const MaxGrad &a) { max_grad_by<256, T>(a); }
template <class T> FN void max_grad_short(const MaxGrad &a) { max_grad_by<32, T>(a); }
FLOATS(max_grad, MaxGrad)
FLOATS(max_grad_short, MaxGrad)
