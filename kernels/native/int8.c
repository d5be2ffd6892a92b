#include "int8.h"
#include "dnnl_plan.h"
#include "h5k.h"
#include "table.h"
#include "tiles.h"
#include <string.h>

extern const h5k_table h5k_table_v3, h5k_table_v4;
extern const h5k_int8_loops h5k_int8_v2, h5k_int8_v3, h5k_int8_v4, h5k_int8_vnni, h5k_int8_amx;

static const h5k_int8_loops *loops(void) {
#ifdef H5K_BUILDS_TILES
	if (h5k_tiles())
		return &h5k_int8_amx;
#endif
#ifdef __x86_64__
	if (h5k_isa == &h5k_table_v4)
		return __builtin_cpu_supports("avx512vnni") ? &h5k_int8_vnni : &h5k_int8_v4;
	if (h5k_isa == &h5k_table_v3)
		return &h5k_int8_v3;
#endif
	return &h5k_int8_v2;
}

int h5k_int8_products(void) { return loops()->group; }

enum {
	ALONE = 400 * 1000, /* multiplications that are not worth waking a thread for */
	LINE = 256,         /* elements that are gathered at a time */
	PIECES = 16,        /* of an image whose range is measured */
};

/* The convolution of an image: x is a copy of it, of 8 bits, with zeros around, and channels in whole groups. by is 1 / scale of a range that is measured, or 0. */
typedef struct {
	const h5k_direct *g;
	const h5k_int8_loops *loops;
	const float *from, *b, *w_scale, *w_sum;
	const char *w;
	char *x;
	float *y, scale, by, zero, lows[PIECES], highs[PIECES];
	int64_t size[3], groups, step[3], *segment, segments, run, panels, blocks, pixels;
} job;

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t volume(const int64_t *size) { return size[0] * size[1] * size[2]; }

/* The bytes of the weights, and after them the numbers of channels, in whole vectors. */
static int64_t weight_bytes(const h5k_direct *g, const h5k_int8_loops *l) { return up(g->o, l->lanes) * volume(g->window) * up(g->c, l->group) * l->bytes; }

int64_t h5k_int8_packed(const h5k_direct *g) {
	const h5k_int8_loops *l = loops();
	return up(weight_bytes(g, l), 64) + 2 * up(g->o, l->width) * sizeof(float);
}

int h5k_int8_pack(const h5k_direct *g, char *packed, int64_t packed_len, const int8_t *w, int64_t w_len, const float *scale, int64_t scale_len) {
	const h5k_int8_loops *l = loops();
	const int64_t taps = volume(g->window);
	if (g->depthwise || packed_len < h5k_int8_packed(g) || w_len < g->o * g->c * taps || scale_len < g->o)
		return -2;
	float *scales = (float *)(packed + up(weight_bytes(g, l), 64)), *sums = scales + up(g->o, l->width);
	memset(packed, 0, packed_len);
	for (int64_t o = 0; o < g->o; o++) {
		double sum = 0;
		for (int64_t i = 0; i < g->c * taps; i++)
			sum += w[o * g->c * taps + i];
		scales[o] = scale[o];
		sums[o] = sum;
	}
	for (int64_t j = 0; j < g->o; j += l->width) {
		int64_t width = least(l->width, up(g->o - j, l->lanes));
		for (int64_t t = 0; t < taps; t++)
			for (int64_t c = 0; c < g->c; c += l->group)
				for (int64_t i = j; i < j + width; i++)
					for (int64_t k = c; k < c + l->group; k++, packed += l->bytes) {
						int8_t v = i < g->o && k < g->c ? w[(i * g->c + k) * taps + t] : 0;
						if (l->bytes == 1)
							*packed = v;
						else
							*(int16_t *)packed = v;
					}
	}
	return 0;
}

static void quantize(const job *q, int64_t n, const float *x, void *to) {
	if (q->by)
		q->loops->quantize_by(n, x, q->by, q->zero, to);
	else
		q->loops->quantize(n, x, q->scale, q->zero, to);
}

/* read_row extends low and high to a row of pixels, or rounds it to 8 bits if to is not NULL. It takes many elements at a time where
 * the pixels are adjacent, or the elements of a channel. */
static void read_row(const job *q, const float *row, int64_t pixels, float *low, float *high, char *to) {
	const h5k_direct *g = q->g;
	const int64_t whole = up(g->c, q->loops->group), bytes = q->loops->bytes;
	if (g->x[1] == 1 && g->x[4] == g->c && (!to || whole == g->c)) {
		if (to)
			quantize(q, pixels * g->c, row, to);
		else
			q->loops->range(pixels * g->c, row, low, high);
		return;
	}
	if (g->x[4] == 1) {
		int16_t line[LINE];
		for (int64_t c = 0; c < g->c; c++)
			for (int64_t i = 0; i < pixels; i += LINE) {
				const float *x = row + c * g->x[1] + i;
				int64_t n = least(LINE, pixels - i);
				if (!to) {
					q->loops->range(n, x, low, high);
					continue;
				}
				quantize(q, n, x, line);
				char *at = to + (i * whole + c) * bytes;
				for (int64_t k = 0; k < n && bytes == 1; k++)
					at[k * whole] = ((char *)line)[k];
				for (int64_t k = 0; k < n && bytes == 2; k++)
					((int16_t *)at)[k * whole] = line[k];
			}
		return;
	}
	float line[LINE];
	for (int64_t i = 0; i < pixels; i++)
		for (int64_t c = 0; c < g->c; c += LINE) {
			int64_t n = least(LINE, g->c - c);
			for (int64_t k = 0; k < n; k++)
				line[k] = row[i * g->x[4] + (c + k) * g->x[1]];
			if (to)
				quantize(q, n, line, to + (i * whole + c) * bytes);
			else
				q->loops->range(n, line, low, high);
		}
}

/* Rows from to to of the copy: what is around is zero, as is the rest of the last group, whose weights are 0. */
static void quantize_rows(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	const h5k_direct *g = q->g;
	const int64_t pixel = q->groups * q->loops->group * q->loops->bytes;
	for (int64_t row = from; row < to; row++) {
		int64_t r = row % q->size[1] - g->pad[1], p = row / q->size[1] - g->pad[0];
		char *at = q->x + row * q->size[2] * pixel;
		int inside = p >= 0 && p < g->x_size[0] && r >= 0 && r < g->x_size[1];
		int64_t first = inside ? least(g->pad[2], q->size[2]) : q->size[2], last = inside ? least(first + g->x_size[2], q->size[2]) : first;
		for (int64_t i = 0; i < q->size[2]; i++)
			if (i < first || i >= last || q->groups * q->loops->group != g->c) {
				if (q->loops->bytes == 1)
					memset(at + i * pixel, (int)q->zero, pixel);
				else
					for (int64_t k = 0; k < pixel / 2; k++)
						((int16_t *)(at + i * pixel))[k] = q->zero;
			}
		if (inside)
			read_row(q, q->from + p * g->x[2] + r * g->x[3], last - first, NULL, NULL, at + first * pixel);
	}
}

/* Tasks from to to: the pixels of a part of the blocks by a panel. */
static void product_part(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	const h5k_direct *g = q->g;
	int64_t at[H5K_DIRECT_BLOCK], parts = q->pixels, most = (volume(g->y_size) + q->blocks - 1) / q->blocks;
	if (q->loops->begin)
		q->loops->begin(most);
	for (int64_t task = from; task < to; task++) {
		int64_t part = task / q->panels, j = task % q->panels * q->loops->width, pixels = volume(g->y_size);
		h5k_int8_block p = {.segments = q->segments, .run = q->run, .segment = q->segment, .x = q->x, .w = q->w + j * q->segments * q->run * q->loops->group * q->loops->bytes,
			.w_scale = q->w_scale + j, .w_sum = q->w_sum + j, .b = q->b ? q->b + j : NULL, .at = at, .most = most, .y_step = g->o, .columns = least(g->o - j, q->loops->width),
			.sum = g->sum, .low = g->low, .high = g->high, .scale = q->scale, .zero = q->zero};
		for (int64_t block = q->blocks * part / parts; block < q->blocks * (part + 1) / parts; block++) {
			int64_t first = pixels * block / q->blocks, last = pixels * (block + 1) / q->blocks;
			for (int64_t i = first; i < last; i++) {
				const int64_t *size = g->y_size;
				at[i - first] = i % size[2] * g->stride[2] * q->step[2] + i / size[2] % size[1] * g->stride[1] * q->step[1] + i / size[2] / size[1] * g->stride[0] * q->step[0];
			}
			p.y = q->y + first * g->o + j;
			q->loops->product(&p, last - first);
		}
	}
	if (q->loops->end)
		q->loops->end();
}

/* Pieces from to to of the rows of x: their lowest and highest elements. */
static void range_part(void *arg, int64_t from, int64_t to) {
	job *q = arg;
	const h5k_direct *g = q->g;
	const int64_t rows = g->x_size[0] * g->x_size[1];
	for (int64_t piece = from; piece < to; piece++)
		for (int64_t i = rows * piece / PIECES; i < rows * (piece + 1) / PIECES; i++)
			read_row(q, q->from + i / g->x_size[1] * g->x[2] + i % g->x_size[1] * g->x[3], g->x_size[2], &q->lows[piece], &q->highs[piece], NULL);
}

/* measure sets scale and zero so that integers from 0 to 255 cover an image and 0. */
static void measure(job *q) {
	float low = 0, high = 0;
	memset(q->lows, 0, sizeof q->lows);
	memset(q->highs, 0, sizeof q->highs);
	h5k_spread(PIECES, volume(q->g->x_size) * q->g->c < 1 << 15 ? INT64_MAX : 2, range_part, q);
	for (int i = 0; i < PIECES; i++) {
		low = q->lows[i] < low ? q->lows[i] : low;
		high = q->highs[i] > high || q->highs[i] != q->highs[i] ? q->highs[i] : high;
	}
	q->scale = high == low ? 1 : (high - low) / 255;
	q->by = 1 / q->scale;
	q->zero = (int)(-low / q->scale + 0.5f);
	if (!(q->zero >= 0 && q->zero <= 255)) /* of infinite numbers or NaN, which the scale is, too */
		q->zero = 0;
}

static void image(job *q, int64_t grain, int64_t threads) {
	const h5k_direct *g = q->g;
	int64_t rows = q->size[0] * q->size[1];
	h5k_spread(rows, rows * q->size[2] * g->c < 1 << 15 ? INT64_MAX : 2, quantize_rows, q);
	q->blocks = (volume(g->y_size) + q->loops->block - 1) / q->loops->block;
	q->pixels = least(q->blocks, (4 * threads + q->panels - 1) / q->panels);
	h5k_spread(q->pixels * q->panels, grain, product_part, q);
}

int h5k_int8_run(const h5k_direct *g, float *y, int64_t y_len, const float *x, int64_t x_len, const char *packed, int64_t packed_len, const float *b, int64_t b_len, float x_scale, float x_zero) {
	const h5k_int8_loops *l = loops();
	int64_t x_last = (g->n - 1) * g->x[0] + (g->c - 1) * g->x[1], pixels = volume(g->y_size);
	for (int i = 0; i < 3; i++)
		x_last += (g->x_size[i] - 1) * g->x[2 + i];
	if (g->depthwise || x_len <= x_last || y_len < g->n * pixels * g->o || packed_len < h5k_int8_packed(g) || (b && b_len < g->o))
		return -2;
	job q = {.g = g, .loops = l, .b = b, .w = packed, .scale = x_scale, .zero = x_zero};
	q.w_scale = (const float *)(packed + up(weight_bytes(g, l), 64));
	q.w_sum = q.w_scale + up(g->o, l->width);
	q.panels = (g->o + l->width - 1) / l->width;
	q.groups = up(g->c, l->group) / l->group;
	for (int i = 0; i < 3; i++)
		q.size[i] = (g->y_size[i] - 1) * g->stride[i] + (g->window[i] - 1) * g->dilation[i] + 1;
	q.step[2] = q.groups;
	q.step[1] = q.size[2] * q.groups;
	q.step[0] = q.size[1] * q.step[1];
	int merged = g->dilation[2] == 1;
	q.segments = g->window[0] * g->window[1] * (merged ? 1 : g->window[2]);
	q.run = q.groups * (merged ? g->window[2] : 1);
	size_t list = up(q.segments * sizeof *q.segment, 64);
	char *scratch = h5k_scratch(list + volume(q.size) * q.groups * l->group * l->bytes + 64);
	if (!scratch)
		return -1;
	q.segment = (int64_t *)scratch;
	q.x = scratch + list;
	for (int64_t s = 0; s < q.segments; s++) {
		int64_t across = merged ? 0 : s % g->window[2], rest = merged ? s : s / g->window[2];
		q.segment[s] = across * g->dilation[2] * q.step[2] + rest % g->window[1] * g->dilation[1] * q.step[1] + rest / g->window[1] * g->dilation[0] * q.step[0];
	}
	int64_t grain = (double)pixels * g->o * volume(g->window) * g->c < ALONE ? INT64_MAX : 2;
	H5K_ENTER;
	for (int64_t n = 0; n < g->n; n++) {
		q.from = x + n * g->x[0];
		q.y = y + n * pixels * g->o;
		if (x_scale == 0)
			measure(&q);
		image(&q, grain, grain == 2 ? h5k_threads() : 1);
	}
	H5K_LEAVE;
	return 0;
}
