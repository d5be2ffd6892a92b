/* One instruction set's loops: included by winograd_v*.c, which set the compiler's target
 * and define H5K_WINOGRAD_LOOPS, the table to fill. */
#include "vectors.h"
#include "winograd.h"

/* BLOCK x VECTORS vectors are the part of a product that is kept in registers; GRAD_BLOCK divides 16. */
#if defined(__AVX512F__)
enum { VECTORS = 2, BLOCK = 8, GRAD_BLOCK = 8 };
#elif defined(__AVX2__)
enum { VECTORS = 2, BLOCK = 6, GRAD_BLOCK = 4 };
#else
enum { VECTORS = 2, BLOCK = 4, GRAD_BLOCK = 4 };
#endif

enum { LANES = BYTES / sizeof(float), WIDTH = VECTORS * LANES };

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

static void plane_input(const h5k_spectrum *v, int64_t row, const float *const from[], const float *const next[]) {
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

static void plane_grad(const h5k_spectrum *v, int64_t row, const float *const from[], const float *const next[], float *sums) {
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

/* y, at least 0 if relu. NaN stays. */
INLINE vec rectified(vec y, int relu) { return relu ? (vec)((ivec)y & ~(y <= (vec){0})) : y; }

/* deliver stores results y, after it has added what is there and set negative ones to 0 if finish says so. */
INLINE void deliver(float *to, vec y, int finish) {
	if (finish & H5K_FINISH_SUM)
		y += load(to);
	store(to, rectified(y, finish & H5K_FINISH_RELU));
}

static void plane_output(const h5k_spectrum *m, int64_t row, float *const to[], const float *bias, int finish) {
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
			for (int j = 0; j < 4; j++)
				deliver(to[4 * i + j] + c, y[j] + b, finish);
		}
	}
}

static void plane_filter(const h5k_spectrum *u, int64_t col, const float *w, int64_t w_row, int64_t w_col, int turned) {
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

static void plane_filter_grad(int64_t n, int64_t apart, const h5k_spectrum *u, int64_t col, float *w, int64_t w_row, int64_t w_col) {
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

/* Windows along one axis: F(m, r) of m + r = 9 has the points 0, ±1/2, ±1, ±2 and infinity, whatever m and r are. */
enum { POINTS = 8, SUM = POINTS + 1 };

static const float line_point[3] = {1, 0.5f, 2};

/* Bᵀd, as above. The product of all x - point is x⁷ - 21/4 x⁵ + 21/4 x³ - x. */
INLINE void line_transform_input(vec v[POINTS], const vec d[POINTS]) {
	vec even, odd;
	v[0] = d[6] - d[0] + 5.25f * (d[2] - d[4]);
	even = d[6] + d[2] - 4.25f * d[4], odd = d[5] + d[1] - 4.25f * d[3];
	v[1] = even + odd;
	v[2] = even - odd;
	even = d[6] + 4 * d[2] - 5 * d[4], odd = 0.5f * d[5] + 2 * d[1] - 2.5f * d[3];
	v[3] = even + odd;
	v[4] = even - odd;
	even = d[6] + 0.25f * d[2] - 1.25f * d[4], odd = 2 * d[5] + 0.5f * d[1] - 2.5f * d[3];
	v[5] = even + odd;
	v[6] = even - odd;
	v[7] = d[7] - d[1] + 5.25f * (d[3] - d[5]);
}

/* Gg: the polynomial of n coefficients g at the points, divided by the product of the point's distances from the others. */
INLINE void line_evaluate(vec v[POINTS], const vec g[], int n) {
	static const float over[3] = {-2.0f / 9, 32.0f / 45, 1.0f / 90};
	v[0] = -g[0];
#pragma GCC unroll 3
	for (int i = 0; i < 3; i++) {
		float power = over[i];
		vec sum[2] = {{0}, {0}};
#pragma GCC unroll 8
		for (int k = 0; k < n; k++, power *= line_point[i])
			sum[k % 2] += power * g[k];
		v[1 + 2 * i] = sum[0] + sum[1];
		v[2 + 2 * i] = sum[0] - sum[1];
	}
	v[7] = g[n - 1];
}

/* Aᵀm: n sums of m times powers of the points. */
INLINE void line_sum(vec y[], const vec m[POINTS], int n) {
	vec sum[3], difference[3];
#pragma GCC unroll 3
	for (int i = 0; i < 3; i++) {
		sum[i] = m[1 + 2 * i] + m[2 + 2 * i];
		difference[i] = m[1 + 2 * i] - m[2 + 2 * i];
	}
	float power[3] = {1, 1, 1};
#pragma GCC unroll 8
	for (int k = 0; k < n; k++) {
		const vec *s = k % 2 ? difference : sum;
		y[k] = s[0] + power[1] * s[1] + power[2] * s[2];
		power[1] *= line_point[1];
		power[2] *= line_point[2];
	}
	y[0] += m[0];
	y[n - 1] += m[7];
}

/* Tiles share all but results pixels with the next. */
INLINE void line_input(const h5k_spectrum *v, int64_t row, const float *const from[], const float *const next[], int results) {
	for (int64_t c = 0; c < v->cols; c += LANES) {
		vec d[POINTS], t[POINTS];
		float *to = place(v, row, c);
#pragma GCC unroll 8
		for (int i = 0; i < POINTS; i++) {
			if (i >= POINTS - results)
				__builtin_prefetch(next[i] + c);
			d[i] = load(from[i] + c);
		}
		line_transform_input(t, d);
#pragma GCC unroll 8
		for (int i = 0; i < POINTS; i++, to += v->point)
			store(to, t[i]);
	}
}

INLINE void line_grad(const h5k_spectrum *v, int64_t row, const float *const from[], const float *const next[], float *sums, int results) {
	for (int64_t c = 0; c < v->cols; c += LANES) {
		vec d[POINTS], t[POINTS], sum = {0};
		float *to = place(v, row, c);
#pragma GCC unroll 8
		for (int i = 0; i < results; i++) {
			__builtin_prefetch(next[i] + c);
			d[i] = load(from[i] + c);
			sum += d[i];
		}
		if (sums)
			store(sums + c, load(sums + c) + sum);
		line_evaluate(t, d, results);
#pragma GCC unroll 8
		for (int i = 0; i < POINTS; i++, to += v->point)
			store(to, t[i]);
	}
}

INLINE void line_output(const h5k_spectrum *m, int64_t row, float *const to[], const float *bias, int finish, int results) {
	for (int64_t c = 0; c < m->cols; c += LANES) {
		vec t[POINTS], y[POINTS], b = {0};
		const float *from = place(m, row, c);
		if (bias)
			b = load(bias + c);
#pragma GCC unroll 8
		for (int i = 0; i < POINTS; i++, from += m->point)
			t[i] = load(from);
		line_sum(y, t, results);
#pragma GCC unroll 8
		for (int i = 0; i < results; i++)
			deliver(to[i] + c, y[i] + b, finish);
	}
}

INLINE void line_filter(const h5k_spectrum *u, int64_t col, const float *w, int64_t w_row, int64_t w_col, int turned, int taps) {
	for (int64_t k = 0; k < u->rows; k++)
		for (int64_t c = 0; c < 16; c += LANES) {
			float elements[POINTS][LANES];
			vec g[POINTS], t[POINTS];
			for (int l = 0; l < LANES; l++)
				for (int i = 0; i < taps; i++)
					elements[i][l] = w[k * w_row + (c + l) * w_col + (turned ? taps - 1 - i : i)];
			for (int i = 0; i < taps; i++)
				g[i] = load(elements[i]);
			line_evaluate(t, g, taps);
			float *to = place(u, k, col + c);
			for (int i = 0; i < POINTS; i++, to += u->point)
				store(to, t[i]);
		}
}

INLINE void line_filter_grad(int64_t n, int64_t apart, const h5k_spectrum *u, int64_t col, float *w, int64_t w_row, int64_t w_col, int taps) {
	for (int64_t k = 0; k < u->rows; k++)
		for (int64_t c = 0; c < 16; c += LANES) {
			float elements[POINTS][LANES];
			vec m[POINTS] = {{0}}, g[POINTS];
			for (int64_t s = 0; s < n; s++)
				for (int i = 0; i < POINTS; i++)
					m[i] += load(place(u, k, col + c) + s * apart + i * u->point);
			line_sum(g, m, taps);
			for (int i = 0; i < taps; i++)
				store(elements[i], g[i]);
			for (int l = 0; l < LANES; l++)
				for (int i = 0; i < taps; i++)
					w[k * w_row + (c + l) * w_col + i] = elements[i][l];
		}
}

/* The transforms of windows of that many pixels. */
#define LINES(line) line(3) line(4) line(5) line(6) line(7)
#define LINE_FUNCTIONS(taps) \
	static void line_input_##taps(const h5k_spectrum *v, int64_t row, const float *const from[], const float *const next[]) { line_input(v, row, from, next, SUM - taps); } \
	static void line_grad_##taps(const h5k_spectrum *v, int64_t row, const float *const from[], const float *const next[], float *sums) { line_grad(v, row, from, next, sums, SUM - taps); } \
	static void line_output_##taps(const h5k_spectrum *m, int64_t row, float *const to[], const float *bias, int finish) { line_output(m, row, to, bias, finish, SUM - taps); } \
	static void line_filter_##taps(const h5k_spectrum *u, int64_t col, const float *w, int64_t w_row, int64_t w_col, int turned) { line_filter(u, col, w, w_row, w_col, turned, taps); } \
	static void line_filter_grad_##taps(int64_t n, int64_t apart, const h5k_spectrum *u, int64_t col, float *w, int64_t w_row, int64_t w_col) { line_filter_grad(n, apart, u, col, w, w_row, w_col, taps); }
#define LINE_TRANSFORMS(taps) {POINTS, {1, SUM - taps}, line_input_##taps, line_grad_##taps, line_output_##taps, line_filter_##taps, line_filter_grad_##taps},

LINES(LINE_FUNCTIONS)

/* sum += a·b for block rows and so many vectors of columns: element (i, k) of a is a[i·row + k·step], b has rows of WIDTH.
 * A vector of next is prefetched for each k. */
INLINE void accumulate(vec sum[][VECTORS], int block, int vectors, int64_t n, const float *a, int64_t row, int64_t step, const float *b, const float *next) {
	for (int64_t k = 0; k < n; k++, a += step, b += WIDTH, next += LANES) {
		vec y[VECTORS];
		__builtin_prefetch(next, 0, 2);
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
INLINE void product_block(const h5k_spectrum *v, int64_t i, const float *vs, const float *us, const float *next, float *m, int vectors) {
	vec sum[BLOCK][VECTORS];
	clear(sum, BLOCK);
	for (int64_t k = 0; k < v->cols; k += WIDTH) {
		int64_t n = v->cols - k < WIDTH ? v->cols - k : WIDTH;
		accumulate(sum, BLOCK, vectors, n, vs + (k / WIDTH * v->rows + i) * WIDTH, WIDTH, 1, us + k * WIDTH, next + k * LANES);
	}
	store_sums(m, sum, BLOCK, vectors, 0);
}

static void product(const h5k_spectrum *m, const h5k_spectrum *v, const h5k_spectrum *u) {
	for (int64_t p = 0; p < m->points; p++)
		for (int64_t j = 0; j < u->cols; j += WIDTH)
			for (int64_t i = 0; i < m->rows; i += BLOCK) {
				const float *vs = v->at + p * v->point, *us = u->at + p * u->point + j * u->rows;
				const float *next = i < VECTORS * BLOCK ? us + (WIDTH + i / BLOCK * LANES) * u->rows : us; /* the next panel, by the first blocks */
				float *to = m->at + p * m->point + (j / WIDTH * m->rows + i) * WIDTH;
				if (u->cols - j >= WIDTH)
					product_block(v, i, vs, us, next, to, VECTORS);
				else
					product_block(v, i, vs, us, next, to, 1);
			}
}

static void product_grad(const h5k_spectrum *u, const h5k_spectrum *v, const h5k_spectrum *d, int add) {
	for (int64_t p = 0; p < u->points; p++)
		for (int64_t j = 0; j < d->cols; j += WIDTH)
			for (int64_t i = 0; i < v->cols; i += GRAD_BLOCK) {
				vec sum[GRAD_BLOCK][VECTORS];
				const float *vs = place(v, 0, i) + p * v->point, *ds = place(d, 0, j) + p * d->point;
				float *to = place(u, i, j) + p * u->point;
				clear(sum, GRAD_BLOCK);
				if (d->cols - j >= WIDTH) {
					accumulate(sum, GRAD_BLOCK, VECTORS, v->rows, vs, 1, WIDTH, ds, to + GRAD_BLOCK * WIDTH);
					store_sums(to, sum, GRAD_BLOCK, VECTORS, add);
				} else {
					accumulate(sum, GRAD_BLOCK, 1, v->rows, vs, 1, WIDTH, ds, to + GRAD_BLOCK * WIDTH);
					store_sums(to, sum, GRAD_BLOCK, 1, add);
				}
			}
}

const h5k_winograd_loops H5K_WINOGRAD_LOOPS = {
	.width = WIDTH,
	.block = BLOCK,
	.plane = {36, {4, 4}, plane_input, plane_grad, plane_output, plane_filter, plane_filter_grad},
	.line = {LINES(LINE_TRANSFORMS)},
	.product = product,
	.product_grad = product_grad,
};
