/* One instruction set's loops: included by direct_v*.c, which set the compiler's target
 * and define H5K_DIRECT_LOOPS, the table to fill. */
#include "direct.h"
#include "panels.h"

#ifdef H5K_TILES
#define ADD_TILES(sum, x, w) _tile_dpbf16ps(sum, x, w)
#include "tiles_isa.h"
#elif defined(H5K_PAIRS)
#define ADD_PRODUCT(total, x, u) total = (vec)_mm512_dpbf16_ps((__m512)(total), (__m512bh)(u), (__m512bh)_mm512_castps_si512(_mm512_set1_ps(x)))
#else
#define ADD_PRODUCT(total, x, u) total += x * u
#endif

/* results stores the results of sums of products. */
INLINE void results(const h5k_direct_block *p, const vec total[][VECTORS], int pixels, int vectors) {
	const vec low = p->low - (vec){0}, high = p->high - (vec){0};
#pragma GCC unroll 2
	for (int j = 0; j < vectors; j++) {
		int64_t n = p->columns - j * LANES;
		vec b = {0};
		if (p->b)
			b = load_some(p->b + j * LANES, n);
#pragma GCC unroll 16
		for (int i = 0; i < pixels; i++)
			finish(total[i][j] + b, p->y + i * p->y_step + j * LANES, n, p->sum, low, high);
	}
}

#ifdef H5K_TILES
static void product(const h5k_direct_block *p, int64_t pixels) {
	vec total[TILES_BLOCK][VECTORS];
	tile_sums(p->at, pixels, p->most, p->segments, p->run, p->segment, p->x, p->w, total, p->columns > LANES ? 2 : 1);
	results(p, total, pixels, p->columns > LANES ? 2 : 1);
}
#else
enum { AHEAD = 16 }; /* weights are prefetched so many terms before their use */

/* fetch prefetches the weights of a later term, and a vector of the next panel. */
INLINE void fetch(const float *w, const float *next, int vectors) {
#pragma GCC unroll 2
	for (int j = 0; j < vectors; j++)
		__builtin_prefetch(w + (AHEAD * vectors + j) * LANES);
	__builtin_prefetch(next, 0, 2);
}

INLINE void panel(const h5k_direct_block *p, int pixels, int vectors) {
	vec total[BLOCK][VECTORS];
	int64_t at[BLOCK];
	const float *w = p->w, *next = p->next;
#pragma GCC unroll 16
	for (int i = 0; i < pixels; i++) {
		at[i] = p->at[i];
#pragma GCC unroll 2
		for (int j = 0; j < vectors; j++) {
			total[i][j] = (vec){0};
			if (next)
				__builtin_prefetch(p->y + i * p->y_step + j * LANES, 1);
		}
	}
	for (int64_t s = 0; s < p->segments; s++) {
		const float *x = p->x + p->segment[s];
		for (int64_t k = 0; k < p->run; k++, x++, w += vectors * LANES) {
			vec u[VECTORS];
			if (next) {
				fetch(w, next, vectors);
				next += LANES;
			}
#pragma GCC unroll 2
			for (int j = 0; j < vectors; j++)
				u[j] = load(w + j * LANES);
#pragma GCC unroll 16
			for (int i = 0; i < pixels; i++)
#pragma GCC unroll 2
				for (int j = 0; j < vectors; j++)
					ADD_PRODUCT(total[i][j], x[at[i]], u[j]);
		}
	}
	results(p, total, pixels, vectors);
}

static void product(const h5k_direct_block *p, int64_t pixels) {
	switch (pixels) { PANELS }
}
#endif

/* A vector of n channels of pixels from to to of a row of results: windows may be partly outside of x. */
INLINE void row(const h5k_direct *g, const float *const *rows, int64_t step, const float *w, vec b, float *y, int64_t c, int64_t n, int64_t from, int64_t to) {
	const int64_t line = (g->c + LANES - 1) / LANES * LANES;
	const vec low = g->low - (vec){0}, high = g->high - (vec){0};
	for (int64_t i = from; i < to; i++) {
		const float *u = w + c;
		vec total = b;
		for (int64_t r = 0; r < g->window[0] * g->window[1]; r++)
			for (int64_t s = 0; s < g->window[2]; s++, u += line) {
				int64_t at = i * g->stride[2] + s * g->dilation[2] - g->pad[2];
				if (rows[r] && at >= 0 && at < g->x_size[2])
					total += load_some(rows[r] + at * step + c, n) * load(u);
			}
		finish(total, y + i * g->c + c, n, g->sum, low, high);
	}
}

/* Whole vectors of channels of windows of 3 x 3 within x, but for rows before first and from last on: the weights stay in registers. */
INLINE void row3x3(const h5k_direct *g, const float *const *rows, int64_t step, const float *w, vec b, float *y, int64_t c, int64_t from, int64_t to, const int first, const int last) {
	const int64_t line = (g->c + LANES - 1) / LANES * LANES, across = g->dilation[2] * step;
	const vec low = g->low - (vec){0}, high = g->high - (vec){0};
	vec u[9];
#pragma GCC unroll 9
	for (int i = 0; i < 9; i++)
		u[i] = load(w + i * line + c);
	for (int64_t i = from; i < to; i++) {
		const int64_t at = (i * g->stride[2] - g->pad[2]) * step + c;
		vec total = b;
#pragma GCC unroll 3
		for (int r = first; r < last; r++)
#pragma GCC unroll 3
			for (int s = 0; s < 3; s++)
				total += load(rows[r] + at + s * across) * u[3 * r + s];
		finish(total, y + i * g->c + c, LANES, g->sum, low, high);
	}
}

static void depthwise(const h5k_direct *g, const float *const *rows, int64_t step, const float *w, const float *b, float *y) {
	const int64_t width = g->y_size[2], reach = (g->window[2] - 1) * g->dilation[2];
	int64_t from = (g->pad[2] + g->stride[2] - 1) / g->stride[2], to = (g->x_size[2] - 1 - reach + g->pad[2]) / g->stride[2] + 1;
	from = from < width ? from : width;
	to = g->x_size[2] - 1 - reach + g->pad[2] < 0 || to < from ? from : to < width ? to : width;
	const int small = g->window[0] == 1 && g->window[1] == 3 && g->window[2] == 3 && rows[1];
	for (int64_t c = 0; c < g->c; c += LANES) {
		int64_t n = g->c - c;
		vec bias = {0};
		if (b)
			bias = load_some(b + c, n);
		if (!small || n < LANES) {
			row(g, rows, step, w, bias, y, c, n, 0, width);
			continue;
		}
		row(g, rows, step, w, bias, y, c, n, 0, from);
		if (rows[0] && rows[2])
			row3x3(g, rows, step, w, bias, y, c, from, to, 0, 3);
		else if (rows[0])
			row3x3(g, rows, step, w, bias, y, c, from, to, 0, 2);
		else if (rows[2])
			row3x3(g, rows, step, w, bias, y, c, from, to, 1, 3);
		else
			row3x3(g, rows, step, w, bias, y, c, from, to, 1, 2);
		row(g, rows, step, w, bias, y, c, n, to, width);
	}
}

const h5k_direct_loops H5K_DIRECT_LOOPS = {
	.lanes = LANES,
	.width = WIDTH,
#ifdef H5K_TILES
	.block = TILES_BLOCK,
	.begin = begin,
	.end = end,
#else
	.block = BLOCK,
#endif
	.product = product,
	.depthwise = depthwise,
};
