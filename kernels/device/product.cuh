// The product of two matrices that are functions of row and column, by tiles: matrix products
// and convolutions are made of it.
#pragma once
#include "dialect.cuh"

// What a product is cut into: the sum over k in splits, which are added up later.
struct Extent {
	uint32_t m, n, k, splits;
	uint32_t a_down, b_down; // whether neighbouring rows are closer in memory than columns
};

// c(i, j, Σ a(i, k)·b(k, j)) for a tile of 64 by 16·WIDE, by 256 threads, each of 4 by WIDE. Split s
// writes to part[s][i][j] instead.
template <int WIDE, class REAL, class A, class B, class C>
FN void multiply(const Extent &e, uint32_t row, uint32_t col, uint32_t split, REAL *part, A a, B b, C c) {
	const int ROWS = 64, COLS = 16 * WIDE, DEEP = 16;
	__shared__ REAL as[DEEP][ROWS + 1], bs[DEEP][COLS + 1];
	uint32_t t = threadIdx.x, tx = t % 16, ty = t / 16;
	uint32_t chunk = (e.k + e.splits - 1) / e.splits, from = split * chunk, to = e.k - from < chunk ? e.k : from + chunk;
	REAL sum[4][WIDE];
	UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < WIDE; j++) sum[i][j] = 0;
	for (uint32_t deep = from; deep < to; deep += DEEP) {
		UNROLL for (uint32_t o = 0; o < ROWS * DEEP; o += 256) {
			uint32_t i = e.a_down ? (o + t) % ROWS : (o + t) / DEEP, k = e.a_down ? (o + t) / ROWS : (o + t) % DEEP;
			as[k][i] = row + i < e.m && deep + k < to ? a(row + i, deep + k) : 0;
		}
		UNROLL for (uint32_t o = 0; o < COLS * DEEP; o += 256) {
			uint32_t j = e.b_down ? (o + t) / DEEP : (o + t) % COLS, k = e.b_down ? (o + t) % DEEP : (o + t) / COLS;
			bs[k][j] = col + j < e.n && deep + k < to ? b(deep + k, col + j) : 0;
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
	UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < WIDE; j++) {
		uint32_t r = row + ty + 16 * i, s = col + tx + 16 * j;
		if (r >= e.m || s >= e.n)
			continue;
		if (e.splits > 1)
			part[((uint64_t)split * e.m + r) * e.n + s] = sum[i][j];
		else
			c(r, s, sum[i][j]);
	}
}

// Adds up what splits have written.
template <class REAL, class C> FN void add_splits(const Extent &e, const REAL *part, C c) {
	EACH(i, e.m * e.n) {
		REAL sum = 0;
		for (uint32_t s = 0; s < e.splits; s++)
			sum += part[(uint64_t)s * e.m * e.n + i];
		c(i / e.n, i % e.n, sum);
	}
}
