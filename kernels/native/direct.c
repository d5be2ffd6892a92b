#include "direct.h"
#include "bf16.h"
#include "dnnl_plan.h"
#include "h5k.h"
#include "table.h"
#include <string.h>

extern const h5k_table h5k_table_v3, h5k_table_v4;
extern const h5k_direct_loops h5k_direct_v2, h5k_direct_v3, h5k_direct_v4;

static const h5k_direct_loops *loops(const h5k_direct *g) {
	if (g->bf16)
		return h5k_direct_pairs();
#ifdef __x86_64__
	if (h5k_isa == &h5k_table_v4)
		return &h5k_direct_v4;
	if (h5k_isa == &h5k_table_v3)
		return &h5k_direct_v3;
#endif
	return &h5k_direct_v2;
}

enum {
	LINE = 64 / sizeof(float),
	OWN = 512 << 10, /* bytes of a processor's own cache */
	PIXELS = 8, /* the least for which prefetching weights pays */
	TERMS = 64, /* of a sum, the least for which prefetching its place in y pays */
	PAGE = 4096 / sizeof(float), /* elements that lie in one set of the first level of the cache are a multiple of it apart */
	CHUNK = 256 << 10,  /* bytes of pixels of x that should stay in a processor's own cache for all panels of weights */
	ALONE = 100 * 1000, /* multiplications that are not worth waking a thread for */
};

/* One convolution of images from, x or a copy of it with zeros around, by packed weights. */
typedef struct {
	const h5k_direct *g;
	const h5k_direct_loops *loops;
	const float *x, *w, *b;
	float *y, *padded;
	int64_t size[3];    /* of the images that x is copied to */
	int64_t gap;        /* elements between pixels of the copy */
	int64_t step[4];    /* strides of x or the copy: the three axes, then images */
	int64_t *segment;   /* see h5k_direct_block */
	int64_t segments, run;
	int64_t panels, blocks, chunks; /* of channels; of pixels; of blocks */
	int far;                        /* whether operands are prefetched: a processor's own cache does not hold them */
} job;

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t volume(const int64_t *size) { return size[0] * size[1] * size[2]; }
static int64_t pixels_of(const h5k_direct *g) { return g->n * volume(g->y_size); }

int64_t h5k_direct_packed(const h5k_direct *g) {
	const h5k_direct_loops *l = loops(g);
	if (!l)
		return 0;
	return volume(g->window) * (g->depthwise ? up(g->c, l->lanes) : g->c * up(g->o, l->lanes));
}

int h5k_direct_pack(const h5k_direct *g, float *packed, int64_t packed_len, const float *w, int64_t w_len) {
	const h5k_direct_loops *l = loops(g);
	const int64_t taps = volume(g->window);
	if (!l || packed_len < h5k_direct_packed(g) || w_len < taps * g->o * (g->depthwise ? 1 : g->c))
		return -2;
	if (g->depthwise) {
		for (int64_t t = 0; t < taps; t++)
			for (int64_t c = 0; c < up(g->c, l->lanes); c++)
				*packed++ = c < g->c ? w[c * taps + t] : 0;
		return 0;
	}
	for (int64_t j = 0; j < g->o; j += l->width) {
		int64_t width = least(l->width, up(g->o - j, l->lanes));
		for (int64_t t = 0; t < taps; t++)
			for (int64_t c = 0; c < g->c; c++)
				for (int64_t i = j; i < j + width; i++)
					*packed++ = i < g->o ? w[(i * g->c + c) * taps + t] : 0;
	}
	return 0;
}

/* The size that an axis of x has with zeros before and after. */
static int64_t padded(const h5k_direct *g, int axis) {
	return (g->y_size[axis] - 1) * g->stride[axis] + (g->window[axis] - 1) * g->dilation[axis] + 1;
}

/* collides reports whether the pixels of a block lie in the same few lines of the first level of the cache. */
static int collides(const job *q) {
	const h5k_direct *g = q->g;
	int64_t next = g->y_size[2] > 1 ? g->x[4] : g->x[0];
	return !g->depthwise && volume(g->window) * volume(g->stride) == 1 && g->o >= 4 * q->loops->width && pixels_of(g) > 8 && next % PAGE == 0;
}

/* in_place reports whether the windows of all results lie in x, whose channels are adjacent; those of a depthwise convolution may reach out. */
static int in_place(const job *q) {
	const h5k_direct *g = q->g;
	if (g->c > 1 && g->x[1] != 1)
		return 0;
	if (g->depthwise)
		return 1;
	if (q->gap)
		return 0;
	for (int i = 0; i < 3; i++)
		if (g->pad[i] || q->size[i] > g->x_size[i])
			return 0;
	return g->window[2] == 1 || g->x[4] == g->c;
}

/* Rows from to to of the copy of x. */
static void copy_rows(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	const h5k_direct *g = q->g;
	for (int64_t row = from; row < to; row++) {
		int64_t r = row % q->size[1] - g->pad[1], p = row / q->size[1] % q->size[0] - g->pad[0], n = row / q->size[1] / q->size[0];
		const int64_t step = q->step[2];
		float *y = q->padded + row * q->step[1];
		if (p < 0 || p >= g->x_size[0] || r < 0 || r >= g->x_size[1]) {
			memset(y, 0, q->step[1] * sizeof *y);
			continue;
		}
		const float *x = q->x + n * g->x[0] + p * g->x[2] + r * g->x[3];
		int64_t first = least(g->pad[2], q->size[2]), last = least(first + g->x_size[2], q->size[2]);
		memset(y, 0, first * step * sizeof *y);
		if (g->x[1] == 1 && g->x[4] == step)
			memcpy(y + first * step, x, (last - first) * step * sizeof *y);
		else if (g->x[1] == 1)
			for (int64_t i = first; i < last; i++)
				memcpy(y + i * step, x + (i - first) * g->x[4], g->c * sizeof *y);
		else
			for (int64_t c = 0; c < g->c; c++)
				for (int64_t i = first; i < last; i++)
					y[i * step + c] = x[c * g->x[1] + (i - first) * g->x[4]];
		memset(y + last * step, 0, (q->size[2] - last) * step * sizeof *y);
	}
}

/* The offsets of the windows of n results from the first on: only the first takes divisions. */
static void windows_of(const job *q, int64_t first, int64_t n, int64_t *at) {
	const int64_t *size = q->g->y_size, *stride = q->g->stride;
	const int64_t across = stride[2] * q->step[2], down = stride[1] * q->step[1], deep = stride[0] * q->step[0];
	int64_t i = first % size[2], r = first / size[2] % size[1], p = first / size[2] / size[1] % size[0], image = first / size[2] / size[1] / size[0];
	int64_t offset = image * q->step[3] + p * deep + r * down + i * across;
	for (int64_t k = 0; k < n; k++, offset += across) {
		at[k] = offset;
		if (++i < size[2])
			continue;
		i = 0;
		offset += down - size[2] * across;
		if (++r < size[1])
			continue;
		r = 0;
		offset += deep - size[1] * down;
		if (++p < size[0])
			continue;
		p = 0;
		offset += q->step[3] - size[0] * deep;
	}
}

/* Tasks from to to: task i is panel i % panels of the pixels of chunk i / panels. */
static void product_part(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	const h5k_direct *g = q->g;
	const int64_t pixels = pixels_of(g), terms = q->segments * q->run, most = (pixels + q->blocks - 1) / q->blocks;
	int64_t at[H5K_DIRECT_BLOCK];
	if (q->loops->begin)
		q->loops->begin(most);
	for (int64_t task = from; task < to; task++) {
		int64_t chunk = task / q->panels, j = task % q->panels * q->loops->width;
		h5k_direct_block p = {.segments = q->segments, .run = q->run, .segment = q->segment, .x = q->x, .w = q->w + j * terms, .b = q->b ? q->b + j : NULL,
			.at = at, .most = most, .y_step = g->o, .columns = least(g->o - j, q->loops->width), .sum = g->sum, .low = g->low, .high = g->high};
		const int64_t begin = q->blocks * chunk / q->chunks;
		for (int64_t block = begin; block < q->blocks * (chunk + 1) / q->chunks; block++) {
			int64_t first = pixels * block / q->blocks, last = pixels * (block + 1) / q->blocks;
			windows_of(q, first, last - first, at);
			if (q->far) /* the first two blocks fetch the next panel */
				p.next = block - begin < 2 ? p.w + terms * (q->loops->width + (block - begin) * q->loops->lanes) : p.w;
			p.y = q->y + first * g->o + j;
			q->loops->product(&p, last - first);
		}
	}
	if (q->loops->end)
		q->loops->end();
}

/* Rows from to to of the results of a depthwise convolution. */
static void depthwise_part(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	const h5k_direct *g = q->g;
	const float *rows[H5K_DIRECT_ROWS];
	for (int64_t row = from; row < to; row++) {
		int64_t r = row % g->y_size[1] * g->stride[1] - g->pad[1], p = row / g->y_size[1] % g->y_size[0] * g->stride[0] - g->pad[0], n = row / g->y_size[1] / g->y_size[0];
		for (int64_t t = 0; t < g->window[0] * g->window[1]; t++) {
			int64_t deep = p + t / g->window[1] * g->dilation[0], down = r + t % g->window[1] * g->dilation[1];
			int inside = deep >= 0 && deep < g->x_size[0] && down >= 0 && down < g->x_size[1];
			rows[t] = inside ? q->x + n * q->step[3] + deep * q->step[0] + down * q->step[1] : NULL;
		}
		q->loops->depthwise(g, rows, q->step[2], q->w, q->b, q->y + row * g->y_size[2] * g->c);
	}
}

/* plan divides the work: each thread has its own panels, and reads their weights once, or its own pixels. */
static void plan(job *q, int64_t threads) {
	const h5k_direct *g = q->g;
	const int64_t pixels = pixels_of(g);
	q->panels = (g->o + q->loops->width - 1) / q->loops->width;
	q->blocks = (pixels + q->loops->block - 1) / q->loops->block;
	q->chunks = (pixels * volume(g->stride) * g->c * (int64_t)sizeof(float) + CHUNK - 1) / CHUNK;
	q->far = pixels >= PIXELS && q->segments * q->run >= TERMS && (pixels * (volume(g->stride) * g->c + g->o) + q->segments * q->run * g->o) * (int64_t)sizeof(float) > OWN;
	if (q->chunks * q->panels < 4 * threads)
		q->chunks = (4 * threads + q->panels - 1) / q->panels;
	q->chunks = least(up(q->chunks, threads), q->blocks);
}

static int short_of(const h5k_direct *g, int64_t x_len, int64_t y_len, int64_t packed_len, const float *b, int64_t b_len) {
	int64_t x_last = (g->n - 1) * g->x[0] + (g->c - 1) * g->x[1];
	for (int i = 0; i < 3; i++)
		x_last += (g->x_size[i] - 1) * g->x[2 + i];
	return !loops(g) || (g->bf16 && g->depthwise) || x_len <= x_last || y_len < pixels_of(g) * g->o || packed_len < h5k_direct_packed(g) || (b && b_len < g->o) || (g->depthwise && (g->o != g->c || g->window[0] * g->window[1] > H5K_DIRECT_ROWS));
}

int h5k_direct_run(const h5k_direct *g, float *y, int64_t y_len, const float *x, int64_t x_len, const float *packed, int64_t packed_len, const float *b, int64_t b_len) {
	if (short_of(g, x_len, y_len, packed_len, b, b_len))
		return -2;
	job q = {.g = g, .loops = loops(g), .x = x, .w = packed, .b = b, .y = y};
	for (int i = 0; i < 3; i++)
		q.size[i] = padded(g, i);
	q.gap = collides(&q) ? LINE : 0;
	int copied = !in_place(&q), merged = g->dilation[2] == 1;
	q.segments = g->window[0] * g->window[1] * (merged ? 1 : g->window[2]);
	q.run = g->c * (merged ? g->window[2] : 1);
	size_t list = up(q.segments * sizeof *q.segment, 64), image = volume(q.size) * (g->c + q.gap);
	char *scratch = h5k_scratch(list + (copied ? (g->n * image + 16) * sizeof(float) : 0));
	if (!scratch)
		return -1;
	q.segment = (int64_t *)scratch;
	if (copied) {
		q.padded = (float *)(scratch + list);
		q.step[2] = g->c + q.gap;
		q.step[1] = q.size[2] * q.step[2];
		q.step[0] = q.size[1] * q.step[1];
		q.step[3] = image;
	} else {
		memcpy(q.step, g->x + 2, 3 * sizeof *q.step);
		q.step[3] = g->x[0];
	}
	for (int64_t s = 0; s < q.segments; s++) {
		int64_t across = merged ? 0 : s % g->window[2], rest = merged ? s : s / g->window[2];
		q.segment[s] = across * g->dilation[2] * q.step[2] + rest % g->window[1] * g->dilation[1] * q.step[1] + rest / g->window[1] * g->dilation[0] * q.step[0];
	}
	h5k_direct whole = *g;
	int64_t threads = h5k_threads();
	double work = (double)pixels_of(g) * g->o * volume(g->window) * (g->depthwise ? 1 : g->c);
	int64_t grain = work < ALONE ? INT64_MAX : 2;
	H5K_ENTER;
	if (copied) {
		int64_t rows = g->n * q.size[0] * q.size[1];
		h5k_spread(rows, rows * q.size[2] * g->c < 1 << 16 ? INT64_MAX : 2, copy_rows, &q);
		q.x = q.padded;
		memcpy(whole.x_size, q.size, sizeof whole.x_size);
		memset(whole.pad, 0, sizeof whole.pad);
		q.g = &whole;
	}
	if (g->depthwise)
		h5k_spread(pixels_of(g) / g->y_size[2], grain, depthwise_part, &q);
	else {
		plan(&q, grain == 2 ? threads : 1);
		h5k_spread(q.chunks * q.panels, grain, product_part, &q);
	}
	H5K_LEAVE;
	return 0;
}

/* A convolution of single pixels, if g[0].n is not 0, of windows of single channels and of single pixels, row by row: what lies between them stays in the cache. */
typedef struct {
	const h5k_direct *g;
	const h5k_direct_loops *loops;
	const float *x, *w[3], *b[3];
	float *y, *scratch;
	int64_t parts, rows; /* of y, of all images */
	int64_t reach;       /* rows that a window has but for its first, with those between */
	int64_t wide, between, outside, size; /* elements: of a row of x; of a row between the first two; of the rows of x that other parts overwrite; of a part in scratch */
} chain;

/* Results of a convolution of single pixels, for dense pixels from x on. */
static void pixels_product(const chain *q, int stage, const float *x, float *y, int64_t pixels) {
	const h5k_direct *g = &q->g[stage];
	const int64_t blocks = (pixels + q->loops->block - 1) / q->loops->block, segment = 0;
	int64_t at[H5K_DIRECT_BLOCK];
	for (int64_t i = 0; i < q->loops->block; i++)
		at[i] = i * g->c;
	for (int64_t j = 0; j < g->o; j += q->loops->width) {
		h5k_direct_block p = {.segments = 1, .run = g->c, .segment = &segment, .w = q->w[stage] + j * g->c, .b = q->b[stage] ? q->b[stage] + j : NULL,
			.at = at, .y_step = g->o, .columns = least(g->o - j, q->loops->width), .sum = g->sum, .low = g->low, .high = g->high};
		for (int64_t block = 0; block < blocks; block++) {
			int64_t first = pixels * block / blocks;
			p.x = x + first * g->c;
			p.y = y + first * g->o + j;
			q->loops->product(&p, pixels * (block + 1) / blocks - first);
		}
	}
}

/* Row r of an image of x. Rows that another part overwrites with its sums are copies. */
static const float *row_of(const chain *q, int64_t part, int64_t image, int64_t r) {
	const h5k_direct *g = &q->g[1];
	const int64_t row = image * g->x_size[1] + r, first = q->rows * part / q->parts, last = q->rows * (part + 1) / q->parts;
	if (!q->g[2].sum || (row >= first && row < last))
		return q->x + row * q->wide;
	return q->scratch + part * q->size + (row < first ? row + g->pad[1] - first : g->pad[1] + row - last) * q->wide;
}

static void copy_outside(const chain *q, int64_t part) {
	const int64_t first = q->rows * part / q->parts, last = q->rows * (part + 1) / q->parts, before = q->g[1].pad[1];
	for (int64_t i = 0; i < q->reach; i++) {
		int64_t row = i < before ? first - before + i : last + i - before;
		if (row >= 0 && row < q->rows)
			memcpy(q->scratch + part * q->size + i * q->wide, q->x + row * q->wide, q->wide * sizeof(float));
	}
}

static void chain_part(void *arg, int64_t from, int64_t to) {
	const chain *q = arg;
	const h5k_direct *g = &q->g[1];
	const float *rows[H5K_DIRECT_ROWS];
	for (int64_t part = from; part < to; part++) {
		float *ring = q->scratch + part * q->size + q->outside, *y = ring + (q->reach + 1) * q->between;
		const int64_t end = q->rows * (part + 1) / q->parts;
		int64_t image = -1, made = 0; /* rows of the image that were computed; the ring holds the last of them */
		for (int64_t row = q->rows * part / q->parts; row < end; row++) {
			const int64_t first = row % g->y_size[1] * g->stride[1] - g->pad[1], last = least(first + q->reach, g->x_size[1] - 1);
			if (row / g->y_size[1] != image) {
				image = row / g->y_size[1];
				made = first > 0 ? first : 0;
			}
			for (; q->g->n && made <= last; made++)
				pixels_product(q, 0, row_of(q, part, image, made), ring + made % (q->reach + 1) * q->between, g->x_size[2]);
			for (int64_t t = 0; t < g->window[1]; t++) {
				int64_t r = first + t * g->dilation[1];
				rows[t] = r < 0 || r > last ? NULL : q->g->n ? ring + r % (q->reach + 1) * q->between : row_of(q, part, image, r);
			}
			q->loops->depthwise(g, rows, g->c, q->w[1], q->b[1], y);
			pixels_product(q, 2, y, q->y + row * g->y_size[2] * q->g[2].o, g->y_size[2]);
		}
	}
}

int h5k_direct_chain(const h5k_direct g[3], float *y, int64_t y_len, const float *x, int64_t x_len, const float *w0, int64_t w0_len, const float *b0, int64_t b0_len,
	const float *w1, int64_t w1_len, const float *b1, int64_t b1_len, const float *w2, int64_t w2_len, const float *b2, int64_t b2_len) {
	const h5k_direct *d = &g[1];
	const int64_t in = d->n * volume(d->x_size), out = pixels_of(d), all = INT64_MAX;
	if ((g->n && (short_of(g, x_len, all, w0_len, b0, b0_len) || g->o != d->c || pixels_of(g) != in || volume(g->window) * volume(g->stride) != 1)) ||
		short_of(d, g->n ? all : x_len, all, w1_len, b1, b1_len) || d->x_size[0] != 1 || d->window[0] != 1 || !d->depthwise ||
		short_of(&g[2], all, y_len, w2_len, b2, b2_len) || g[2].c != d->c || pixels_of(&g[2]) != out || volume(g[2].window) * volume(g[2].stride) != 1 ||
		(g[2].sum && (!g->n || out != in)))
		return -2;
	chain q = {.g = g, .loops = loops(d), .x = x, .w = {w0, w1, w2}, .b = {b0, b1, b2}, .y = y, .rows = d->n * d->y_size[1], .reach = (d->window[1] - 1) * d->dilation[1]};
	const double work = (double)out * g[2].o * d->c;
	q.parts = work < ALONE ? 1 : least(h5k_threads(), q.rows);
	q.wide = d->x_size[2] * (g->n ? g->c : d->c);
	q.between = g->n ? up(d->x_size[2] * d->c, LINE) : 0;
	q.outside = g[2].sum ? up(q.reach * q.wide, LINE) : 0;
	q.size = q.outside + (q.reach + 1) * q.between + up(d->y_size[2] * d->c, LINE) + PAGE;
	q.scratch = h5k_scratch(q.parts * q.size * sizeof(float));
	if (!q.scratch)
		return -1;
	H5K_ENTER;
	for (int64_t part = 0; part < q.parts && g[2].sum; part++)
		copy_outside(&q, part);
	h5k_spread(q.parts, 2, chain_part, &q);
	H5K_LEAVE;
	return 0;
}
