#include "bf16.h"
#include "dnnl_plan.h"
#include "h5k.h"
#include "tiles.h"
#include <string.h>

enum { LINE = 256 }; /* elements that are gathered at a time */

extern const h5k_direct_loops h5k_direct_bf16, h5k_direct_amx;

const h5k_direct_loops *h5k_direct_pairs(void) {
#ifdef H5K_BUILDS_TILES
	if (h5k_tiles())
		return &h5k_direct_amx;
#endif
#ifdef H5K_BUILDS_BF16
	return h5k_bf16() ? &h5k_direct_bf16 : NULL;
#else
	return NULL;
#endif
}

#ifndef H5K_BUILDS_BF16
void h5k_bf16_round(int64_t n, const float *x, uint16_t *y) { (void)n, (void)x, (void)y; } /* never called: h5k_direct_pairs is NULL */
#endif

typedef struct {
	const h5k_direct *g;
	const float *x;
	uint16_t *y;
} job;

/* Rows from to to of the images. */
static void round_rows(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	const h5k_direct *g = q->g;
	const int64_t whole = (g->c + 1) / 2 * 2, pixels = g->x_size[2];
	float line[LINE];
	for (int64_t row = from; row < to; row++) {
		int64_t r = row % g->x_size[1], p = row / g->x_size[1] % g->x_size[0], n = row / g->x_size[1] / g->x_size[0];
		const float *x = q->x + n * g->x[0] + p * g->x[2] + r * g->x[3];
		uint16_t *y = q->y + row * pixels * whole;
		if ((g->x[1] == 1 || g->c == 1) && g->x[4] == whole && whole == g->c) {
			h5k_bf16_round(pixels * whole, x, y);
			continue;
		}
		for (int64_t i = 0; i < pixels; i++, x += g->x[4], y += whole) {
			if (g->x[1] == 1)
				h5k_bf16_round(g->c, x, y);
			for (int64_t c = 0; c < g->c && g->x[1] != 1; c += LINE) {
				int64_t n = g->c - c < LINE ? g->c - c : LINE;
				for (int64_t k = 0; k < n; k++)
					line[k] = x[(c + k) * g->x[1]];
				h5k_bf16_round(n, line, y + c);
			}
			if (whole != g->c)
				y[g->c] = 0;
		}
	}
}

int h5k_bf16_pairs(const h5k_direct *g, float *pairs, int64_t pairs_len, const float *x, int64_t x_len) {
	int64_t x_last = (g->n - 1) * g->x[0] + (g->c - 1) * g->x[1], rows = g->n * g->x_size[0] * g->x_size[1];
	for (int i = 0; i < 3; i++)
		x_last += (g->x_size[i] - 1) * g->x[2 + i];
	if (!h5k_direct_pairs() || x_len <= x_last || pairs_len < rows * g->x_size[2] * ((g->c + 1) / 2))
		return -2;
	job q = {g, x, (uint16_t *)pairs};
	H5K_ENTER;
	h5k_spread(rows, rows * g->x_size[2] * g->c < 1 << 16 ? INT64_MAX : 2, round_rows, &q);
	H5K_LEAVE;
	return 0;
}
