/* One instruction set's loops: included by direct_v*.c, which set the compiler's target
 * and define H5K_DIRECT_LOOPS, the table to fill. */
#include "direct.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* BLOCK pixels times VECTORS vectors of channels are kept in registers. */
#if defined(__AVX512F__)
enum { BYTES = 64, VECTORS = 2, BLOCK = 14 };
#elif defined(__AVX2__)
enum { BYTES = 32, VECTORS = 2, BLOCK = 6 };
#else
enum { BYTES = 16, VECTORS = 2, BLOCK = 4 };
#endif

typedef float vec __attribute__((vector_size(BYTES)));
typedef int32_t ivec __attribute__((vector_size(BYTES)));
enum { LANES = BYTES / sizeof(float), WIDTH = VECTORS * LANES };

INLINE vec load(const float *p) {
	vec v;
	memcpy(&v, p, sizeof v);
	return v;
}

INLINE vec load_some(const float *p, int64_t n) {
	vec v = {0};
	for (int64_t i = 0; i < n; i++)
		v[i] = p[i];
	return v;
}

INLINE void store(float *p, vec v) { memcpy(p, &v, sizeof v); }

INLINE vec choose(ivec mask, vec a, vec b) { return (vec)((mask & (ivec)a) | (~mask & (ivec)b)); }

/* Comparisons with NaN are false, so NaN stays. */
INLINE vec limited(vec v, float low, float high) {
	vec l = low - (vec){0}, h = high - (vec){0};
	v = choose(v < l, l, v);
	return choose(v > h, h, v);
}

/* finish stores n channels of a result at y. */
INLINE void finish(vec v, float *y, int64_t n, int64_t sum, float low, float high) {
	if (n >= LANES) {
		if (sum)
			v += load(y);
		store(y, limited(v, low, high));
		return;
	}
	if (sum)
		v += load_some(y, n);
	v = limited(v, low, high);
	for (int64_t i = 0; i < n; i++)
		y[i] = v[i];
}

INLINE void panel(const h5k_direct_block *p, int pixels, int vectors) {
	vec total[BLOCK][VECTORS];
	int64_t at[BLOCK];
	const float *w = p->w;
#pragma GCC unroll 16
	for (int i = 0; i < pixels; i++) {
		at[i] = p->at[i];
#pragma GCC unroll 2
		for (int j = 0; j < vectors; j++)
			total[i][j] = (vec){0};
	}
	for (int64_t s = 0; s < p->segments; s++) {
		const float *x = p->x + p->segment[s];
		for (int64_t k = 0; k < p->run; k++, x++, w += vectors * LANES) {
			vec u[VECTORS];
#pragma GCC unroll 2
			for (int j = 0; j < vectors; j++)
				u[j] = load(w + j * LANES);
#pragma GCC unroll 16
			for (int i = 0; i < pixels; i++)
#pragma GCC unroll 2
				for (int j = 0; j < vectors; j++)
					total[i][j] += x[at[i]] * u[j];
		}
	}
#pragma GCC unroll 2
	for (int j = 0; j < vectors; j++) {
		int64_t n = p->columns - j * LANES;
		vec b = {0};
		if (p->b)
			b = n >= LANES ? load(p->b + j * LANES) : load_some(p->b + j * LANES, n);
#pragma GCC unroll 16
		for (int i = 0; i < pixels; i++)
			finish(total[i][j] + b, p->y + i * p->y_step + j * LANES, n, p->sum, p->low, p->high);
	}
}

#define PANEL(pixels) \
	case pixels: \
		if (p->columns > LANES) \
			panel(p, pixels, 2); \
		else \
			panel(p, pixels, 1); \
		break;

static void product(const h5k_direct_block *p, int64_t pixels) {
	switch (pixels) {
		PANEL(1)
		PANEL(2)
		PANEL(3)
		PANEL(4)
#if defined(__AVX2__)
		PANEL(5)
		PANEL(6)
#endif
#if defined(__AVX512F__)
		PANEL(7)
		PANEL(8)
		PANEL(9)
		PANEL(10)
		PANEL(11)
		PANEL(12)
		PANEL(13)
		PANEL(14)
#endif
	}
}

/* One vector of channels of a row of results, of windows of 3 x 3: the weights stay in registers. */
INLINE void row3x3(const h5k_direct *g, const int64_t *step, const float *x, const float *w, vec b, float *y, int64_t c, int64_t n) {
	const int64_t row = (g->c + LANES - 1) / LANES * LANES, down = g->dilation[1] * step[1], across = g->dilation[2] * step[2];
	vec u[9];
#pragma GCC unroll 9
	for (int i = 0; i < 9; i++)
		u[i] = load(w + i * row + c);
	for (int64_t i = 0; i < g->y_size[2]; i++) {
		const float *at = x + i * g->stride[2] * step[2] + c;
		vec total = b;
#pragma GCC unroll 3
		for (int r = 0; r < 3; r++)
#pragma GCC unroll 3
			for (int s = 0; s < 3; s++)
				total += (n >= LANES ? load(at + r * down + s * across) : load_some(at + r * down + s * across, n)) * u[3 * r + s];
		finish(total, y + i * g->c + c, n, g->sum, g->low, g->high);
	}
}

INLINE void row(const h5k_direct *g, const int64_t *step, const float *x, const float *w, vec b, float *y, int64_t c, int64_t n) {
	const int64_t row = (g->c + LANES - 1) / LANES * LANES;
	for (int64_t i = 0; i < g->y_size[2]; i++) {
		const float *u = w + c;
		vec total = b;
		for (int64_t q = 0; q < g->window[0]; q++)
			for (int64_t r = 0; r < g->window[1]; r++)
				for (int64_t s = 0; s < g->window[2]; s++, u += row) {
					const float *at = x + q * g->dilation[0] * step[0] + r * g->dilation[1] * step[1] + (i * g->stride[2] + s * g->dilation[2]) * step[2] + c;
					total += (n >= LANES ? load(at) : load_some(at, n)) * load(u);
				}
		finish(total, y + i * g->c + c, n, g->sum, g->low, g->high);
	}
}

static void depthwise(const h5k_direct *g, const int64_t *step, const float *x, const float *w, const float *b, float *y) {
	const int small = g->window[0] == 1 && g->window[1] == 3 && g->window[2] == 3;
	for (int64_t c = 0; c < g->c; c += LANES) {
		int64_t n = g->c - c;
		vec bias = {0};
		if (b)
			bias = n >= LANES ? load(b + c) : load_some(b + c, n);
		if (small && n >= LANES)
			row3x3(g, step, x, w, bias, y, c, LANES);
		else if (n >= LANES)
			row(g, step, x, w, bias, y, c, LANES);
		else
			row(g, step, x, w, bias, y, c, n);
	}
}

const h5k_direct_loops H5K_DIRECT_LOOPS = {
	.lanes = LANES,
	.width = WIDTH,
	.block = BLOCK,
	.product = product,
	.depthwise = depthwise,
};
