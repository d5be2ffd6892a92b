// Strided iteration over arrays of one shape, and its division among threads: in packs of elements, which
// are loaded and stored by one instruction where they are adjacent.
#pragma once
#include "common.cuh"

// Arrays of one shape with joined axes: h5k_grid of loops.h.
enum { RANK = 8, OPERANDS = 4 };
struct Grid {
	int64_t rank, shape[RANK], stride[OPERANDS][RANK];
	uint64_t magic[RANK], shift[RANK]; // to divide by shape
	uint32_t pack, rows;               // see pack.go
};

// A number to divide by: Granlund and Montgomery, Division by Invariant Integers using
// Multiplication (1994), section 4.
struct Divisor { // Divisor of package launch
	uint32_t magic, shift;
};
FN uint32_t over(uint32_t i, Divisor by) { return ((uint32_t)((uint64_t)i * by.magic >> 32) + i) >> by.shift; } // of i below 2³¹

struct LongDivisor { // LongDivisor of package launch
	uint64_t magic, shift;
};
FN uint64_t over(uint64_t i, LongDivisor by) { return (HIGH(i, by.magic) + i) >> by.shift; } // of i below 2⁶³

// i over the size of an axis. Where i is an uint32_t, the grid has fewer than 2³¹ elements.
FN uint32_t quotient(const Grid &g, uint32_t i, int axis) { return over(i, Divisor{(uint32_t)(g.magic[axis] >> 32) + 1, (uint32_t)g.shift[axis]}); }
FN uint64_t quotient(const Grid &g, uint64_t i, int axis) { return over(i, LongDivisor{g.magic[axis], g.shift[axis]}); }

// The offsets of element i of N operands.
template <int N> struct Places {
	int64_t at[N];
};
template <int N, class I> FN Places<N> places(const Grid &g, I i) {
	Places<N> p;
	UNROLL for (int k = 0; k < N; k++) p.at[k] = 0;
	for (int axis = (int)g.rank - 1; axis > 0; axis--) {
		I rest = quotient(g, i, axis), along = i - rest * (I)g.shape[axis];
		UNROLL for (int k = 0; k < N; k++) p.at[k] += (int64_t)along * g.stride[k][axis];
		i = rest;
	}
	UNROLL for (int k = 0; k < N; k++) p.at[k] += (int64_t)i * g.stride[k][0];
	return p;
}

// Adjacent elements.
template <class T, int W> struct Pack {
	T at[W];
};

struct Eight {
	Four lo, hi;
};

// The type that one instruction loads or stores for so many bytes.
template <int BYTES> struct AsOne; // 2 to 32
template <> struct AsOne<2> {
	typedef uint16_t type;
};
template <> struct AsOne<4> {
	typedef uint32_t type;
};
template <> struct AsOne<8> {
	typedef Two type;
};
template <> struct AsOne<16> {
	typedef Four type;
};
template <> struct AsOne<32> {
	typedef Eight type;
};

// Loads and stores are written in assembly, because the compiler splits them where it also sees
// single elements accessed. No thread loads what it has stored.
template <class T> FN uint64_t address(const T *p) { return __builtin_bit_cast(uint64_t, p); }
FN void fetch(uint16_t &w, uint64_t p) { asm("ld.global.u16 %0, [%1];" : "=h"(w) : "l"(p)); }
FN void fetch(uint32_t &w, uint64_t p) { asm("ld.global.u32 %0, [%1];" : "=r"(w) : "l"(p)); }
FN void fetch(Two &w, uint64_t p) { asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(p)); }
FN void fetch(Four &w, uint64_t p) { asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(p)); }
FN void keep(uint16_t w, uint64_t p) { asm volatile("st.global.u16 [%1], %0;" ::"h"(w), "l"(p)); }
FN void keep(uint32_t w, uint64_t p) { asm volatile("st.global.u32 [%1], %0;" ::"r"(w), "l"(p)); }
FN void keep(Two w, uint64_t p) { asm volatile("st.global.v2.u32 [%2], {%0, %1};" ::"r"(w.x), "r"(w.y), "l"(p)); }
FN void keep(Four w, uint64_t p) { asm volatile("st.global.v4.u32 [%4], {%0, %1, %2, %3};" ::"r"(w.x), "r"(w.y), "r"(w.z), "r"(w.w), "l"(p)); }
FN void fetch(Eight &w, uint64_t p) { fetch(w.lo, p), fetch(w.hi, p + 16); }
FN void keep(Eight w, uint64_t p) { keep(w.lo, p), keep(w.hi, p + 16); }

// W adjacent elements from x on, aligned as a whole.
template <int W, class T> FN Pack<T, W> row_of(const T *x) {
	typename AsOne<W * sizeof(T)>::type together;
	fetch(together, address(x));
	return __builtin_bit_cast(Pack<T, W>, together);
}

// W adjacent elements of p from element at on, aligned as a whole.
template <int W, class T> FN Pack<T, W> adjacent(const void *p, int64_t at) {
	const T *from = (const T *)p + at;
	if constexpr (W > 1)
		return row_of<W>(from);
	else
		return {{*from}};
}

// W elements of an operand of g from x on, adjacent or strided.
template <int W, class T> FN Pack<T, W> pick(const Grid &g, int operand, const T *x) {
	int64_t step = 0;
	if constexpr (W > 1) {
		if (g.rows >> operand & 1)
			return row_of<W>(x);
		step = g.stride[operand][g.rank - 1];
	}
	Pack<T, W> p;
	UNROLL for (int k = 0; k < W; k++) p.at[k] = x[k * step];
	return p;
}

// Stores adjacent elements, aligned as a whole.
template <class T, class V, int W> FN void lay(T *to, Pack<V, W> v) {
	Pack<T, W> p;
	UNROLL for (int k = 0; k < W; k++) p.at[k] = (T)v.at[k];
	if constexpr (W == 1)
		*to = p.at[0];
	else
		keep(__builtin_bit_cast(typename AsOne<W * sizeof(T)>::type, p), address(to));
}

template <int W> struct Width {
	enum { count = W };
};

// Calls take and give for every all-th pack of W elements from one index to another. AHEAD packs are
// loaded by take(places) before give uses them, so that more loads are in flight. The loop over give is
// unrolled unless its code is LONG.
template <int N, int W, int AHEAD, bool LONG = false, class I, class Take, class Give>
FN void share(const Grid &g, I from, I to, I all, Take take, Give give) {
	for (I i = from; i < to; i += AHEAD * all) {
		decltype(take(Width<W>(), places<N>(g, i))) got[AHEAD];
		UNROLL for (int k = 0; k < AHEAD; k++) {
			if (i + k * all < to)
				got[k] = take(Width<W>(), places<N>(g, i + k * all));
		}
		if (LONG) {
			ROLLED for (I k = i; k < to && k < i + AHEAD * all; k += all) {
				give(Width<W>(), got[0]);
				UNROLL for (int next = 1; next < AHEAD; next++) got[next - 1] = got[next];
			}
		} else {
			UNROLL for (int k = 0; k < AHEAD; k++) {
				if (i + k * all < to)
					give(Width<W>(), got[k]);
			}
		}
	}
}

// Each thread's share of the n elements of a grid, fewer than 2³¹: packs of W, and the remainder one by one.
template <int N, int W, int AHEAD, bool LONG = false, class Take, class Give> FN void each(const Grid &g, int64_t n, Take take, Give give) {
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
	uint32_t packed = W > 1 && g.pack >= W ? (uint32_t)n / W * W : 0;
	if (W > 1)
		share<N, W, AHEAD, LONG>(g, thread * W, packed, threads * W, take, give);
	share<N, 1, W == 1 ? AHEAD : 1>(g, packed + thread, (uint32_t)n, threads, take, give);
}

// Combines take(places) of every step-th element of a grid by join; nothing is its neutral element.
template <int N, class T, class Take, class Join>
FN T collect(const Grid &g, uint64_t from, uint64_t to, uint64_t step, T nothing, Take take, Join join) {
	T sum = nothing;
	share<N, 1, 2>(g, from, to, step, [&](Width<1>, Places<N> p) { return take(p); }, [&](Width<1>, T x) { sum = join(sum, x); });
	return sum;
}
