// The product of two matrices that are functions of row and column, by tiles: matrix products
// and convolutions are made of it.
#pragma once
#include "types.cuh"

// What a product is cut into: the sum over k in splits, which are added up later.
struct Extent {
	uint32_t m, n, k, splits;
	uint32_t a_down, b_down; // whether neighbouring rows are closer in memory than columns
};

// The part of the sum over k that a split is.
struct Stretch {
	uint32_t from, to;
};
FN Stretch stretch(const Extent &e, uint32_t split) {
	uint32_t chunk = (e.k + e.splits - 1) / e.splits, from = split * chunk;
	return {from, e.k - from < chunk ? e.k : from + chunk};
}

// Where one element of a product goes: split s writes to part[s][r][j] instead.
template <class REAL, class C> FN void finish(const Extent &e, uint32_t split, REAL *part, uint32_t r, uint32_t s, REAL sum, C c) {
	if (r >= e.m || s >= e.n)
		return;
	if (e.splits > 1)
		part[((uint64_t)split * e.m + r) * e.n + s] = sum;
	else
		c(r, s, sum);
}

// c(i, j, Σ a(i, k)·b(k, j)) for a tile of 64 by 16·WIDE, by 256 threads, each of 4 by WIDE.
template <int WIDE, class T, class A, class B, class C>
FN void tile(T, const Extent &e, uint32_t row, uint32_t col, uint32_t split, Calc<T> *part, A a, B b, C c) {
	typedef Calc<T> REAL;
	const int ROWS = 64, COLS = 16 * WIDE, DEEP = 16, PAD = 8 / sizeof(REAL); // 2 by 16 elements fill all banks
	__shared__ REAL as[DEEP][ROWS + PAD], bs[DEEP][COLS + PAD];
	uint32_t t = threadIdx.x, tx = t % 16, ty = t / 16;
	Stretch along = stretch(e, split);
	REAL sum[4][WIDE];
	UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < WIDE; j++) sum[i][j] = 0;
	for (uint32_t deep = along.from; deep < along.to; deep += DEEP) {
		UNROLL for (uint32_t o = 0; o < ROWS * DEEP; o += 256) {
			uint32_t i = e.a_down ? (o + t) % ROWS : (o + t) / DEEP, k = e.a_down ? (o + t) / ROWS : (o + t) % DEEP;
			as[k][i] = row + i < e.m && deep + k < along.to ? (REAL)a(row + i, deep + k) : 0;
		}
		UNROLL for (uint32_t o = 0; o < COLS * DEEP; o += 256) {
			uint32_t j = e.b_down ? (o + t) / DEEP : (o + t) % COLS, k = e.b_down ? (o + t) % DEEP : (o + t) / COLS;
			bs[k][j] = col + j < e.n && deep + k < along.to ? (REAL)b(deep + k, col + j) : 0;
		}
		__syncthreads();
		_Pragma("unroll 4") for (int k = 0; k < DEEP; k++) {
			REAL x[4], y[WIDE];
			UNROLL for (int i = 0; i < 4; i++) x[i] = as[k][ty + 16 * i];
			UNROLL for (int j = 0; j < WIDE; j++) y[j] = bs[k][tx + 16 * j];
			UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < WIDE; j++) sum[i][j] = fma(x[i], y[j], sum[i][j]);
		}
		__syncthreads();
	}
	UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < WIDE; j++)
		finish(e, split, part, row + ty + 16 * i, col + tx + 16 * j, sum[i][j], c);
}

#if __CUDA_ARCH__ >= 800
// Halves are multiplied by tensor cores, which read pairs of neighbours along k as words and hold
// their fragments as the PTX ISA says under "Matrix Fragments for mma.m16n8k16".
FN void multiply_add(float *c, const uint32_t *a, const uint32_t *b, Half) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
FN void multiply_add(float *c, const uint32_t *a, const uint32_t *b, BFloat) {
	asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Where pair k of row i of a tile lies, so that neither its fragments nor what fills it, row by
// row or pair by pair, meet in a bank.
FN uint32_t pair_at(uint32_t i, uint32_t k) { return i * 16 + (k ^ (i / 2 % 4 * 4)); }

// Fills ROWS of a tile, from row on and 32 deep, with x(i, k), of which so many rows and columns
// are there; down says that neighbouring rows are closer in memory.
template <int ROWS, class X> FN void fill(uint32_t *tile, bool down, uint32_t row, uint32_t rows, uint32_t deep, uint32_t to, X x) {
	UNROLL for (uint32_t o = 0; o < ROWS * 16; o += 256) {
		uint32_t n = o + threadIdx.x, group = n / 32;
		uint32_t i = down ? n % 8 + group % (ROWS / 8) * 8 : n / 16, k = down ? n / 8 % 4 + group / (ROWS / 8) * 4 : n % 16;
		uint32_t lo = row + i < rows && deep + 2 * k < to ? x(row + i, deep + 2 * k).b : 0;
		uint32_t hi = row + i < rows && deep + 2 * k + 1 < to ? x(row + i, deep + 2 * k + 1).b : 0;
		tile[pair_at(i, k)] = hi << 16 | lo;
	}
}
template <class B> struct Turned {
	B b;
	__device__ __forceinline__ auto operator()(uint32_t j, uint32_t k) const { return b(k, j); }
};

// The tile by 8 warps, two beside each other, each of 16 rows by 8·WIDE columns.
template <int WIDE, class T, class A, class B, class C>
FN void half_tile(T t, const Extent &e, uint32_t row, uint32_t col, uint32_t split, float *part, A a, B b, C c) {
	const int ROWS = 64, COLS = 16 * WIDE, DEEP = 32;
	__shared__ uint32_t as[ROWS * 16], bs[COLS * 16];
	uint32_t warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, q = threadIdx.x % 4, top = warp / 2 * 16 + g, left = warp % 2 * 8 * WIDE;
	Stretch along = stretch(e, split);
	float sum[WIDE][4];
	UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < 4; i++) sum[j][i] = 0;
	for (uint32_t deep = along.from; deep < along.to; deep += DEEP) {
		fill<ROWS>(as, e.a_down, row, e.m, deep, along.to, a);
		fill<COLS>(bs, !e.b_down, col, e.n, deep, along.to, Turned<B>{b});
		__syncthreads();
		UNROLL for (uint32_t k = q; k < 16; k += 8) {
			uint32_t x[4] = {as[pair_at(top, k)], as[pair_at(top + 8, k)], as[pair_at(top, k + 4)], as[pair_at(top + 8, k + 4)]};
			UNROLL for (int j = 0; j < WIDE; j++) {
				uint32_t y[2] = {bs[pair_at(left + 8 * j + g, k)], bs[pair_at(left + 8 * j + g, k + 4)]};
				multiply_add(sum[j], x, y, t);
			}
		}
		__syncthreads();
	}
	UNROLL for (int j = 0; j < WIDE; j++) UNROLL for (int i = 0; i < 4; i++)
		finish(e, split, part, row + top + i / 2 * 8, col + left + 8 * j + 2 * q + i % 2, sum[j][i], c);
}
template <int WIDE, class A, class B, class C>
FN void tile(Half t, const Extent &e, uint32_t row, uint32_t col, uint32_t split, float *part, A a, B b, C c) {
	half_tile<WIDE>(t, e, row, col, split, part, a, b, c);
}
template <int WIDE, class A, class B, class C>
FN void tile(BFloat t, const Extent &e, uint32_t row, uint32_t col, uint32_t split, float *part, A a, B b, C c) {
	half_tile<WIDE>(t, e, row, col, split, part, a, b, c);
}
#endif

// A tile's product of elements of type T.
template <int WIDE, class T, class A, class B, class C>
FN void multiply(const Extent &e, uint32_t row, uint32_t col, uint32_t split, void *part, A a, B b, C c) {
	tile<WIDE>(T(), e, row, col, split, (Calc<T> *)part, a, b, c);
}

// Adds up what splits have written.
template <class T, class C> FN void add_splits(const Extent &e, const void *part, C c) {
	EACH(i, e.m * e.n) {
		Calc<T> sum = 0;
		for (uint32_t s = 0; s < e.splits; s++)
			sum += ((const Calc<T> *)part)[(uint64_t)s * e.m * e.n + i];
		c(i / e.n, i % e.n, sum);
	}
}
