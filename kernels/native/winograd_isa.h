/* One instruction set's loops: included by winograd_v*.c, which set the compiler's target
 * and define H5K_WINOGRAD_LOOPS, the table to fill. */
#include "winograd.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* BLOCK x VECTORS vectors are the part of a product that is kept in registers; GRAD_BLOCK divides 16. */
#if defined(__AVX512F__)
enum { BYTES = 64, VECTORS = 2, BLOCK = 8, GRAD_BLOCK = 8 };
#elif defined(__AVX2__)
enum { BYTES = 32, VECTORS = 2, BLOCK = 6, GRAD_BLOCK = 4 };
#else
enum { BYTES = 16, VECTORS = 2, BLOCK = 4, GRAD_BLOCK = 4 };
#endif

typedef float vec __attribute__((vector_size(BYTES)));
typedef int32_t ivec __attribute__((vector_size(BYTES)));
enum { LANES = BYTES / sizeof(float), WIDTH = VECTORS * LANES };

INLINE vec load(const float *p) {
	vec v;
	memcpy(&v, p, sizeof v);
	return v;
}

INLINE void store(float *p, vec v) { memcpy(p, &v, sizeof v); }

/* The points are 0, ±P, ±Q and infinity. These have smaller errors than the usual 1 and 2. */
#define P 0.625f
#define Q 1.5f
#define P2 (P * P)
#define Q2 (Q * Q)

/* Bᵀd: the coefficients, in d, of the products of (x - point) over all points but one. */
INLINE void transform_input(vec v[6], vec d0, vec d1, vec d2, vec d3, vec d4, vec d5) {
	vec pe = d4 - Q2 * d2, po = d3 - Q2 * d1, qe = d4 - P2 * d2, qo = d3 - P2 * d1;
	v[0] = P2 * Q2 * d0 - (P2 + Q2) * d2 + d4;
	v[1] = pe + P * po;
	v[2] = pe - P * po;
	v[3] = qe + Q * qo;
	v[4] = qe - Q * qo;
	v[5] = P2 * Q2 * d1 - (P2 + Q2) * d3 + d5;
}

/* Gg: the polynomial g at the points, divided by the product of the point's distances from the others. */
#define AT_0 (1 / (P2 * Q2))
#define AT_P (1 / (2 * P2 * (P2 - Q2)))
#define AT_Q (1 / (2 * Q2 * (Q2 - P2)))

INLINE void transform_filter(vec v[6], vec g0, vec g1, vec g2) {
	vec pe = AT_P * g0 + AT_P * P2 * g2, qe = AT_Q * g0 + AT_Q * Q2 * g2;
	v[0] = AT_0 * g0;
	v[1] = pe + AT_P * P * g1;
	v[2] = pe - AT_P * P * g1;
	v[3] = qe + AT_Q * Q * g1;
	v[4] = qe - AT_Q * Q * g1;
	v[5] = g2;
}

INLINE void transform_grad(vec v[6], vec g0, vec g1, vec g2, vec g3) {
	vec pe = AT_P * g0 + AT_P * P2 * g2, po = AT_P * P * g1 + AT_P * P * P2 * g3;
	vec qe = AT_Q * g0 + AT_Q * Q2 * g2, qo = AT_Q * Q * g1 + AT_Q * Q * Q2 * g3;
	v[0] = AT_0 * g0;
	v[1] = pe + po;
	v[2] = pe - po;
	v[3] = qe + qo;
	v[4] = qe - qo;
	v[5] = g3;
}

/* Aᵀm: sums of m times powers of the points. */
INLINE void transform_output(vec y[4], vec m0, vec m1, vec m2, vec m3, vec m4, vec m5) {
	vec ps = m1 + m2, pd = m1 - m2, qs = m3 + m4, qd = m3 - m4;
	y[0] = m0 + ps + qs;
	y[1] = P * pd + Q * qd;
	y[2] = P2 * ps + Q2 * qs;
	y[3] = P * P2 * pd + Q * Q2 * qd + m5;
}

INLINE void transform_filter_grad(vec y[3], vec m0, vec m1, vec m2, vec m3, vec m4, vec m5) {
	vec ps = m1 + m2, pd = m1 - m2, qs = m3 + m4, qd = m3 - m4;
	y[0] = m0 + ps + qs;
	y[1] = P * pd + Q * qd;
	y[2] = P2 * ps + Q2 * qs + m5;
}

/* Where row i of column j lies in a spectrum, at the first point. */
INLINE float *place(const h5k_spectrum *s, int64_t i, int64_t j) { return s->at + (j / WIDTH * s->rows + i) * WIDTH + j % WIDTH; }

static void input(const h5k_spectrum *v, int64_t row, const float *const from[36], const float *const next[36]) {
	for (int64_t c = 0; c < v->cols; c += LANES) {
#pragma GCC unroll 6
		for (int i = 0; i < 6; i++)
#pragma GCC unroll 6
			for (int j = 2; j < 6; j++) /* tiles share two columns */
				__builtin_prefetch(next[6 * i + j] + c);
		vec t[6][6], u[6];
		float *to = place(v, row, c);
#pragma GCC unroll 6
		for (int j = 0; j < 6; j++) {
			transform_input(u, load(from[j] + c), load(from[6 + j] + c), load(from[12 + j] + c), load(from[18 + j] + c), load(from[24 + j] + c), load(from[30 + j] + c));
#pragma GCC unroll 6
			for (int i = 0; i < 6; i++)
				t[i][j] = u[i];
		}
#pragma GCC unroll 6
		for (int i = 0; i < 6; i++) {
			transform_input(u, t[i][0], t[i][1], t[i][2], t[i][3], t[i][4], t[i][5]);
#pragma GCC unroll 6
			for (int j = 0; j < 6; j++, to += v->point)
				store(to, u[j]);
		}
	}
}

static void grad(const h5k_spectrum *v, int64_t row, const float *const from[16], const float *const next[16], float *sums) {
	for (int64_t c = 0; c < v->cols; c += LANES) {
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++)
			__builtin_prefetch(next[i] + c);
		vec t[6][4], u[6], sum = {0};
		float *to = place(v, row, c);
#pragma GCC unroll 6
		for (int j = 0; j < 4; j++) {
			vec d0 = load(from[j] + c), d1 = load(from[4 + j] + c), d2 = load(from[8 + j] + c), d3 = load(from[12 + j] + c);
			sum += d0 + d1 + (d2 + d3);
			transform_grad(u, d0, d1, d2, d3);
#pragma GCC unroll 6
			for (int i = 0; i < 6; i++)
				t[i][j] = u[i];
		}
		if (sums)
			store(sums + c, load(sums + c) + sum);
#pragma GCC unroll 6
		for (int i = 0; i < 6; i++) {
			transform_grad(u, t[i][0], t[i][1], t[i][2], t[i][3]);
#pragma GCC unroll 6
			for (int j = 0; j < 6; j++, to += v->point)
				store(to, u[j]);
		}
	}
}

static void output(const h5k_spectrum *m, int64_t row, float *const to[16], const float *bias, int relu) {
	for (int64_t c = 0; c < m->cols; c += LANES) {
		vec t[4][6], y[4], b = {0};
		const float *from = place(m, row, c);
		const int64_t p = m->point;
		if (bias)
			b = load(bias + c);
#pragma GCC unroll 6
		for (int j = 0; j < 6; j++, from += p) {
			transform_output(y, load(from), load(from + 6 * p), load(from + 12 * p), load(from + 18 * p), load(from + 24 * p), load(from + 30 * p));
#pragma GCC unroll 6
			for (int i = 0; i < 4; i++)
				t[i][j] = y[i];
		}
#pragma GCC unroll 6
		for (int i = 0; i < 4; i++) {
			transform_output(y, t[i][0], t[i][1], t[i][2], t[i][3], t[i][4], t[i][5]);
#pragma GCC unroll 6
			for (int j = 0; j < 4; j++) {
				y[j] += b;
				if (relu) /* NaN stays */
					y[j] = (vec)((ivec)y[j] & ~(y[j] <= (vec){0}));
				store(to[4 * i + j] + c, y[j]);
			}
		}
	}
}

static void filter(const h5k_spectrum *u, int64_t col, const float *w, int64_t w_row, int64_t w_col, int turned) {
	for (int64_t k = 0; k < u->rows; k++)
		for (int64_t c = 0; c < 16; c += LANES) {
			float g[9][LANES];
			vec t[6][3], v[6];
			for (int l = 0; l < LANES; l++)
				for (int i = 0; i < 9; i++)
					g[i][l] = w[k * w_row + (c + l) * w_col + (turned ? 8 - i : i)];
			for (int j = 0; j < 3; j++) {
				transform_filter(v, load(g[j]), load(g[3 + j]), load(g[6 + j]));
				for (int i = 0; i < 6; i++)
					t[i][j] = v[i];
			}
			float *to = place(u, k, col + c);
			for (int i = 0; i < 6; i++) {
				transform_filter(v, t[i][0], t[i][1], t[i][2]);
				for (int j = 0; j < 6; j++, to += u->point)
					store(to, v[j]);
			}
		}
}

static void filter_grad(int64_t n, int64_t apart, const h5k_spectrum *u, int64_t col, float *w, int64_t w_row, int64_t w_col) {
	for (int64_t k = 0; k < u->rows; k++)
		for (int64_t c = 0; c < 16; c += LANES) {
			float g[9][LANES];
			vec t[3][6], y[3];
			for (int j = 0; j < 6; j++) {
				vec m[6] = {{0}};
				for (int64_t s = 0; s < n; s++) {
					const float *from = place(u, k, col + c) + s * apart + j * u->point;
					for (int i = 0; i < 6; i++)
						m[i] += load(from + i * 6 * u->point);
				}
				transform_filter_grad(y, m[0], m[1], m[2], m[3], m[4], m[5]);
				for (int i = 0; i < 3; i++)
					t[i][j] = y[i];
			}
			for (int i = 0; i < 3; i++) {
				transform_filter_grad(y, t[i][0], t[i][1], t[i][2], t[i][3], t[i][4], t[i][5]);
				for (int j = 0; j < 3; j++)
					store(g[3 * i + j], y[j]);
			}
			for (int l = 0; l < LANES; l++)
				for (int i = 0; i < 9; i++)
					w[k * w_row + (c + l) * w_col + i] = g[i][l];
		}
}

/* sum += a·b for block rows and so many vectors of columns: element (i, k) of a is a[i·row + k·step], b has rows of WIDTH. */
INLINE void accumulate(vec sum[][VECTORS], int block, int vectors, int64_t n, const float *a, int64_t row, int64_t step, const float *b) {
	for (int64_t k = 0; k < n; k++, a += step, b += WIDTH) {
		vec y[VECTORS];
#pragma GCC unroll 16
		for (int j = 0; j < vectors; j++)
			y[j] = load(b + j * LANES);
#pragma GCC unroll 16
		for (int i = 0; i < block; i++)
#pragma GCC unroll 16
			for (int j = 0; j < vectors; j++)
				sum[i][j] += a[i * row] * y[j];
	}
}

INLINE void clear(vec sum[][VECTORS], int block) {
#pragma GCC unroll 16
	for (int i = 0; i < block; i++)
#pragma GCC unroll 16
		for (int j = 0; j < VECTORS; j++)
			sum[i][j] = (vec){0};
}

INLINE void store_sums(float *to, const vec sum[][VECTORS], int block, int vectors, int add) {
#pragma GCC unroll 16
	for (int i = 0; i < block; i++)
#pragma GCC unroll 16
		for (int j = 0; j < vectors; j++)
			store(to + i * WIDTH + j * LANES, add ? load(to + i * WIDTH + j * LANES) + sum[i][j] : sum[i][j]);
}

/* One block of rows, from i on, and one panel of columns of v·u. */
INLINE void product_block(const h5k_spectrum *v, int64_t i, const float *vs, const float *us, float *m, int vectors) {
	vec sum[BLOCK][VECTORS];
	clear(sum, BLOCK);
	for (int64_t k = 0; k < v->cols; k += WIDTH) {
		int64_t n = v->cols - k < WIDTH ? v->cols - k : WIDTH;
		accumulate(sum, BLOCK, vectors, n, vs + (k / WIDTH * v->rows + i) * WIDTH, WIDTH, 1, us + k * WIDTH);
	}
	store_sums(m, sum, BLOCK, vectors, 0);
}

static void product(const h5k_spectrum *m, const h5k_spectrum *v, const h5k_spectrum *u) {
	for (int p = 0; p < H5K_POINTS; p++)
		for (int64_t j = 0; j < u->cols; j += WIDTH)
			for (int64_t i = 0; i < m->rows; i += BLOCK) {
				const float *vs = v->at + p * v->point, *us = u->at + p * u->point + j * u->rows;
				float *to = m->at + p * m->point + (j / WIDTH * m->rows + i) * WIDTH;
				if (u->cols - j >= WIDTH)
					product_block(v, i, vs, us, to, VECTORS);
				else
					product_block(v, i, vs, us, to, 1);
			}
}

static void product_grad(const h5k_spectrum *u, const h5k_spectrum *v, const h5k_spectrum *d, int add) {
	for (int p = 0; p < H5K_POINTS; p++)
		for (int64_t j = 0; j < d->cols; j += WIDTH)
			for (int64_t i = 0; i < v->cols; i += GRAD_BLOCK) {
				vec sum[GRAD_BLOCK][VECTORS];
				const float *vs = place(v, 0, i) + p * v->point, *ds = place(d, 0, j) + p * d->point;
				float *to = place(u, i, j) + p * u->point;
				clear(sum, GRAD_BLOCK);
				if (d->cols - j >= WIDTH) {
					accumulate(sum, GRAD_BLOCK, VECTORS, v->rows, vs, 1, WIDTH, ds);
					store_sums(to, sum, GRAD_BLOCK, VECTORS, add);
				} else {
					accumulate(sum, GRAD_BLOCK, 1, v->rows, vs, 1, WIDTH, ds);
					store_sums(to, sum, GRAD_BLOCK, 1, add);
				}
			}
}

const h5k_winograd_loops H5K_WINOGRAD_LOOPS = {
	.width = WIDTH,
	.block = BLOCK,
	.input = input,
	.grad = grad,
	.output = output,
	.filter = filter,
	.filter_grad = filter_grad,
	.product = product,
	.product_grad = product_grad,
};
