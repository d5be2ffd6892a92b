#include "winograd.h"
#include "dnnl_plan.h"
#include "h5k.h"
#include "table.h"
#include <string.h>

extern const h5k_table h5k_table_v3, h5k_table_v4;
extern const h5k_winograd_loops h5k_winograd_v2, h5k_winograd_v3, h5k_winograd_v4;

static const h5k_winograd_loops *loops(void) {
#ifdef __x86_64__
	if (h5k_isa == &h5k_table_v4)
		return &h5k_winograd_v4;
	if (h5k_isa == &h5k_table_v3)
		return &h5k_winograd_v3;
#endif
	return &h5k_winograd_v2;
}

enum {
	INNER = 384 << 10, /* bytes of a chunk of tiles that should stay in a processor's own cache */
	OUTER = 5 << 20,   /* bytes of tiles that are transformed once, for weights that are transformed as they are needed */
	COLUMNS = 32,      /* channels of such weights at a time */
	SPECTRA = 8 << 20, /* bytes of gradients of transformed weights that each thread may have its own of */
};

/* Images: channels are adjacent. */
typedef struct {
	const float *at;
	int64_t channels, size[2];
	const int64_t *stride;
} images;

/* One convolution of images from by weights to images to, or its gradient with respect to the weights, in
 * which case to is dy. Tiles are 4 x 4 pixels of to. Work is shared out by tiles (rows of the grid of threads) and
 * by channels of to (columns). */
typedef struct {
	const h5k_winograd_loops *loops;
	const h5k_winograd_transforms *how;
	images from, to;
	int64_t n, window[2], tiles[2], pad[2];
	int64_t across, down; /* the grid of threads: columns and rows */
	int64_t chunk;        /* tiles that are transformed at a time */
	const float *w, *b;
	float *dw, *db;
	int64_t w_row, w_col; /* strides of weights: for a channel of from, and of to */
	int turned, finish;
	int64_t unit; /* of channels that are shared out; 16 if it is 0 */
	int packed;   /* whether whole comes with the job */
	h5k_loop *act; /* NULL for none */
	float *activated;
	h5k_spectrum whole;   /* weights, transformed; at is NULL if that is done for some channels at a time */
	char *scratch;
	size_t each; /* bytes of scratch for each thread */
} job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Points are not a multiple of 4096 bytes apart, lest they fall into the same lines of a cache. */
static h5k_spectrum spectrum(const job *q, int64_t rows, int64_t cols) {
	return (h5k_spectrum){.rows = rows, .cols = cols, .points = q->how->points, .point = up(cols, q->loops->width) * rows + 16};
}

static size_t bytes(h5k_spectrum s) { return s.points * s.point * sizeof *s.at; }

/* take returns memory from *scratch, which it advances. */
static float *take(char **scratch, size_t size) {
	float *at = (float *)*scratch;
	*scratch += up(size, 64);
	return at;
}

/* The most channels that an image has. */
static int64_t most(const job *q) { return q->from.channels > q->to.channels ? q->from.channels : q->to.channels; }

static int64_t tiles_of(const job *q) { return q->n * q->tiles[0] * q->tiles[1]; }

/* The pixels of tile i of m, which are its results and more more along each axis; the first is before pixels above
 * and to the left of the first result. Those that do not exist are at none. */
static void pixels(const job *q, const images *m, int64_t i, const int64_t more[2], const int64_t before[2], float *none, float *p[]) {
	const int *tile = q->how->tile;
	int64_t image = i / (q->tiles[0] * q->tiles[1]), in_image = i % (q->tiles[0] * q->tiles[1]);
	int64_t y0 = in_image / q->tiles[1] * tile[0] - before[0], x0 = in_image % q->tiles[1] * tile[1] - before[1];
	for (int64_t y = y0; y < y0 + tile[0] + more[0]; y++)
		for (int64_t x = x0; x < x0 + tile[1] + more[1]; x++)
			*p++ = y < 0 || x < 0 || y >= m->size[0] || x >= m->size[1] ? none : (float *)m->at + image * m->stride[0] + y * m->stride[1] + x * m->stride[2];
}

/* Tiles from i on, n of them, transformed. */
static void tiles_in(const job *q, h5k_spectrum *v, int64_t i, int64_t n, float *zeros) {
	const int64_t more[2] = {q->window[0] - 1, q->window[1] - 1};
	float *p[2][H5K_MOST_PIXELS];
	pixels(q, &q->from, i, more, q->pad, zeros, p[0]);
	for (int64_t t = 0; t < n; t++) {
		pixels(q, &q->from, i + least(t + 1, n - 1), more, q->pad, zeros, p[(t + 1) % 2]);
		q->how->input(v, t, (const float *const *)p[t % 2], (const float *const *)p[(t + 1) % 2]);
	}
}

static void tiles_grad(const job *q, h5k_spectrum *d, int64_t i, int64_t n, int64_t channel, float *zeros, float *sums) {
	static const int64_t none[2];
	images m = q->to;
	float *p[2][H5K_MOST_RESULTS];
	m.at += channel;
	pixels(q, &m, i, none, none, zeros, p[0]);
	for (int64_t t = 0; t < n; t++) {
		pixels(q, &m, i + least(t + 1, n - 1), none, none, zeros, p[(t + 1) % 2]);
		q->how->grad(d, t, (const float *const *)p[t % 2], (const float *const *)p[(t + 1) % 2], sums);
	}
}

/* activate applies the activation to n channels of a tile's results, adjacent ones at once. */
static void activate(const job *q, float *const p[], int64_t n, const float *trash) {
	static const double constants[2];
	const int results = q->how->tile[0] * q->how->tile[1];
	for (int i = 0, count; i < results; i += count) {
		for (count = 1; i + count < results && p[i + count] == p[i] + count * n && p[i + count] != trash; count++)
			;
		if (p[i] != trash)
			q->act(count * n, q->activated + (p[i] - q->to.at), p[i], p[i], NULL, constants);
	}
}

static void tiles_out(const job *q, const h5k_spectrum *s, int64_t i, int64_t n, int64_t channel, float *trash) {
	static const int64_t none[2];
	images m = q->to;
	float *p[H5K_MOST_RESULTS];
	m.at += channel;
	for (int64_t t = 0; t < n; t++) {
		pixels(q, &m, i + t, none, none, trash, p);
		q->how->output(s, t, p, q->b ? q->b + channel : NULL, q->finish);
		if (q->act)
			activate(q, p, s->cols, trash);
	}
}

/* Columns from to to of the weights, in units of 16. */
static void whole_filter(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	for (int64_t j = 16 * from; j < 16 * to; j += 16)
		q->how->filter(&q->whole, j, q->w + j * q->w_col, q->w_row, q->w_col, q->turned);
}

/* The tiles and channels of part i of the work. */
typedef struct {
	int64_t tile[2], channel[2];
} share;

static share share_of(const job *q, int64_t i) {
	int64_t unit = q->unit ? q->unit : 16, tiles = tiles_of(q), units = (q->to.channels + unit - 1) / unit, y = i / q->across, x = i % q->across;
	return (share){{tiles * y / q->down, tiles * (y + 1) / q->down}, {units * x / q->across * unit, least(units * (x + 1) / q->across * unit, q->to.channels)}};
}

/* few reports whether there are few tiles for so many weights: the tiles, transformed, fit a cache, and the weights
 * do not. Threads then share the channels, and each transforms all tiles, once. */
static int few(const job *q) {
	int64_t point = q->how->points * sizeof(float), weights = point * q->from.channels * q->to.channels;
	return weights > 2 * INNER && point * tiles_of(q) * q->from.channels <= OUTER;
}

static void conv_part(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	for (int64_t part = from; part < to; part++) {
		share s = share_of(q, part);
		char *scratch = q->scratch + part * q->each;
		int64_t columns = q->whole.at && !(q->packed && few(q)) ? q->to.channels : COLUMNS, rows = up(q->chunk, q->loops->block);
		h5k_spectrum u = q->whole, v = spectrum(q, rows, q->from.channels), m = spectrum(q, rows, columns);
		if (!q->whole.at)
			u.at = take(&scratch, bytes(u));
		v.at = take(&scratch, bytes(v));
		m.at = take(&scratch, bytes(m));
		float *zeros = take(&scratch, most(q) * sizeof *zeros), *trash = take(&scratch, most(q) * sizeof *trash);
		memset(zeros, 0, most(q) * sizeof *zeros);
		for (int64_t i = s.tile[0]; i < s.tile[1]; i += q->chunk) {
			int64_t n = least(q->chunk, s.tile[1] - i);
			v.rows = m.rows = up(n, q->loops->block);
			tiles_in(q, &v, i, n, zeros);
			for (int64_t j = s.channel[0]; j < s.channel[1]; j += columns) {
				u.cols = m.cols = least(columns, s.channel[1] - j);
				if (!q->whole.at)
					for (int64_t k = 0; k < u.cols; k += 16)
						q->how->filter(&u, k, q->w + (j + k) * q->w_col, q->w_row, q->w_col, q->turned);
				else
					u.at = q->whole.at + j * u.rows; /* columns before j are panels before */
				q->loops->product(&m, &v, &u);
				tiles_out(q, &m, i, n, j, trash);
			}
		}
	}
}

/* The gradient of the weights by some tiles and channels. Of few tiles, weights are
 * finished for some channels at a time; else the spectrum of part i is at the start of its scratch,
 * and is finished by the caller. */
static void grad_part(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	for (int64_t part = from; part < to; part++) {
		share s = share_of(q, part);
		char *scratch = q->scratch + part * q->each;
		int all = few(q);
		int64_t own = s.channel[1] - s.channel[0], columns = q->across > 1 || all ? COLUMNS : own;
		h5k_spectrum u = spectrum(q, q->from.channels, all ? columns : q->whole.cols);
		h5k_spectrum v = spectrum(q, q->chunk, q->from.channels), d = spectrum(q, q->chunk, columns);
		u.at = take(&scratch, bytes(u));
		v.at = take(&scratch, bytes(v));
		d.at = take(&scratch, bytes(d));
		float *zeros = take(&scratch, most(q) * sizeof *zeros), *sums = take(&scratch, most(q) * sizeof *sums);
		double *totals = (double *)scratch;
		memset(zeros, 0, most(q) * sizeof *zeros);
		memset(totals, 0, q->to.channels * sizeof *totals);
		for (int64_t i = s.tile[0]; i < s.tile[1]; i += q->chunk) {
			int64_t n = v.rows = d.rows = least(q->chunk, s.tile[1] - i);
			tiles_in(q, &v, i, n, zeros);
			memset(sums, 0, q->to.channels * sizeof *sums);
			for (int64_t j = s.channel[0]; j < s.channel[1]; j += columns) {
				h5k_spectrum part_of_u = u;
				part_of_u.cols = d.cols = least(columns, s.channel[1] - j);
				if (!all) /* columns are a multiple of the width, or all */
					part_of_u.at += (j - s.channel[0]) * u.rows;
				tiles_grad(q, &d, i, n, j, zeros, q->db ? sums + j : NULL);
				q->loops->product_grad(&part_of_u, &v, &d, i > s.tile[0]);
				for (int64_t k = 0; k < d.cols && all; k += 16)
					q->how->filter_grad(1, 0, &part_of_u, k, q->dw + (j + k) * q->w_col, q->w_row, q->w_col);
			}
			for (int64_t c = s.channel[0]; c < s.channel[1]; c++)
				totals[c] += sums[c];
		}
	}
}

/* Channels from to to of the gradient of the weights, in units of 16. */
static void finish_grad(void *arg, int64_t from, int64_t to) {
	const job *q = arg;
	for (int64_t i = 0; i < q->across; i++) {
		share s = share_of(q, i);
		h5k_spectrum u = spectrum(q, q->from.channels, q->whole.cols);
		u.at = (float *)(q->scratch + i * q->each);
		for (int64_t j = s.channel[0]; j < s.channel[1]; j += 16)
			if (j >= 16 * from && j < 16 * to)
				q->how->filter_grad(q->down, q->across * q->each / sizeof(float), &u, j - s.channel[0], q->dw + j * q->w_col, q->w_row, q->w_col);
	}
}

/* start sets what follows from the window and the images, and returns how many threads are worth waking. */
static int64_t start(job *q) {
	q->loops = loops();
	q->how = q->window[0] == 3 ? &q->loops->plane : &q->loops->line[q->window[1] - 3];
	for (int i = 0; i < 2; i++)
		q->tiles[i] = (q->to.size[i] + q->how->tile[i] - 1) / q->how->tile[i];
	int alone = (double)tiles_of(q) * q->from.channels * q->to.channels < 1 << 14;
	return alone ? 1 : h5k_threads();
}

/* inner is a chunk of tiles that, transformed, stays in a processor's own cache, with its results. */
static int64_t inner(const job *q) {
	int64_t each = q->how->points * (q->from.channels + q->to.channels) * sizeof(float);
	return up((INNER + each / 2) / each, q->loops->block);
}

static int convolve(job *q) {
	int64_t threads = start(q), columns = COLUMNS;
	if (few(q)) {
		q->across = least(threads, q->to.channels / 16);
		q->down = threads / q->across;
		q->chunk = (tiles_of(q) + q->down - 1) / q->down;
		if (!q->packed)
			q->whole = spectrum(q, q->from.channels, COLUMNS);
	} else {
		q->across = 1;
		q->down = threads;
		q->chunk = inner(q);
		columns = q->to.channels;
		if (!q->packed)
			q->whole = spectrum(q, q->from.channels, columns);
	}
	int64_t rows = up(q->chunk, q->loops->block);
	size_t weights = q->packed ? 0 : up(bytes(q->whole), 64), shared = few(q) ? 0 : weights;
	q->each = weights - shared + up(bytes(spectrum(q, rows, q->from.channels)), 64) + up(bytes(spectrum(q, rows, columns)), 64) + 2 * up(most(q) * sizeof(float), 64);
	q->scratch = h5k_scratch(shared + q->across * q->down * q->each);
	if (!q->scratch)
		return -1;
	H5K_ENTER;
	if (shared) {
		q->whole.at = take(&q->scratch, shared);
		h5k_spread(q->to.channels / 16, threads == 1 ? INT64_MAX : 0, whole_filter, q);
	}
	h5k_spread(q->across * q->down, 2, conv_part, q);
	H5K_LEAVE;
	return 0;
}

static int gradient(job *q) {
	int64_t threads = start(q), columns = COLUMNS, spectra = q->how->points * q->from.channels * q->to.channels * sizeof(float);
	q->across = few(q) || threads * spectra > SPECTRA ? least(threads, q->to.channels / 16) : 1;
	q->down = q->across > 1 || few(q) ? 1 : threads;
	q->chunk = few(q) ? tiles_of(q) : inner(q);
	int64_t own = (q->to.channels / 16 + q->across - 1) / q->across * 16;
	if (q->across == 1 && !few(q))
		columns = own;
	q->whole = spectrum(q, q->from.channels, few(q) ? COLUMNS : own);
	q->each = up(bytes(q->whole), 64) + up(bytes(spectrum(q, q->chunk, q->from.channels)), 64) + up(bytes(spectrum(q, q->chunk, columns)), 64) + 2 * up(most(q) * sizeof(float), 64) + up(q->to.channels * sizeof(double), 64);
	int64_t parts = q->across * q->down;
	q->scratch = h5k_scratch(parts * q->each);
	if (!q->scratch)
		return -1;
	H5K_ENTER;
	h5k_spread(parts, 2, grad_part, q);
	if (!few(q))
		h5k_spread(q->to.channels / 16, threads == 1 ? INT64_MAX : 0, finish_grad, q);
	H5K_LEAVE;
	for (int64_t c = 0; c < q->to.channels && q->db; c++) {
		double sum = 0;
		for (int64_t i = 0; i < parts; i++)
			sum += ((double *)(q->scratch + (i + 1) * q->each - up(q->to.channels * sizeof(double), 64)))[c];
		q->db[c] = sum;
	}
	return 0;
}

static int finish_of(const h5k_winograd *g) { return (g->relu ? H5K_FINISH_RELU : 0) | (g->sum ? H5K_FINISH_SUM : 0); }

static images x_of(const h5k_winograd *g, const float *x) { return (images){x, g->c, {g->x_size[0], g->x_size[1]}, g->x}; }
static images y_of(const h5k_winograd *g, const float *y) { return (images){y, g->o, {g->y_size[0], g->y_size[1]}, g->y}; }

int h5k_winograd_conv(const h5k_winograd *g, float *y, const float *x, const float *w, const float *b, int act, float *z) {
	const int64_t taps = g->window[0] * g->window[1];
	return convolve(&(job){.n = g->n, .from = x_of(g, x), .to = y_of(g, y), .window = {g->window[0], g->window[1]}, .pad = {g->pad[0], g->pad[1]},
		.w = w, .b = b, .w_row = taps, .w_col = taps * g->c, .finish = finish_of(g),
		.act = act < 0 ? NULL : h5k_isa->op[act][H5K_F32], .activated = z});
}

int h5k_winograd_grad_x(const h5k_winograd *g, float *dx, const float *dy, const float *w) {
	const int64_t taps = g->window[0] * g->window[1];
	return convolve(&(job){.n = g->n, .from = y_of(g, dy), .to = x_of(g, dx), .window = {g->window[0], g->window[1]},
		.pad = {g->window[0] - 1 - g->pad[0], g->window[1] - 1 - g->pad[1]}, .w = w, .w_row = taps * g->c, .w_col = taps, .turned = 1});
}

int h5k_winograd_grad_w(const h5k_winograd *g, float *dw, float *db, const float *x, const float *dy) {
	const int64_t taps = g->window[0] * g->window[1];
	return gradient(&(job){.n = g->n, .from = x_of(g, x), .to = y_of(g, dy), .window = {g->window[0], g->window[1]}, .pad = {g->pad[0], g->pad[1]},
		.dw = dw, .db = db, .w_row = taps, .w_col = taps * g->c});
}

static job packing(const h5k_winograd *g, const float *w, float *packed) {
	const int64_t taps = g->window[0] * g->window[1];
	job q = {.n = g->n, .from = x_of(g, NULL), .to = y_of(g, NULL), .window = {g->window[0], g->window[1]}, .pad = {g->pad[0], g->pad[1]},
		.w = w, .w_row = taps, .w_col = taps * g->c, .unit = COLUMNS, .packed = 1, .finish = finish_of(g)};
	start(&q);
	q.whole = spectrum(&q, g->c, g->o);
	q.whole.at = packed;
	return q;
}

int64_t h5k_winograd_packed(const h5k_winograd *g) {
	job q = packing(g, NULL, NULL);
	return bytes(q.whole) / sizeof(float);
}

int h5k_winograd_pack(const h5k_winograd *g, float *packed, int64_t packed_len, const float *w, int64_t w_len) {
	job q = packing(g, w, packed);
	if (packed_len * sizeof(float) < bytes(q.whole) || w_len < g->o * q.w_col)
		return -2;
	whole_filter(&q, 0, g->o / 16);
	return 0;
}

/* The elements from the first to the last of n images. */
static int64_t length(const images *m, int64_t n) {
	return (n - 1) * m->stride[0] + (m->size[0] - 1) * m->stride[1] + (m->size[1] - 1) * m->stride[2] + m->channels;
}

int h5k_winograd_run(const h5k_winograd *g, float *y, int64_t y_len, const float *x, int64_t x_len, const float *packed, int64_t packed_len, const float *b, int64_t b_len) {
	job q = packing(g, NULL, (float *)packed);
	q.from.at = x;
	q.to.at = y;
	q.b = b;
	if (y_len < length(&q.to, g->n) || x_len < length(&q.from, g->n) || packed_len * sizeof(float) < bytes(q.whole) || (b && b_len < g->o))
		return -2;
	return convolve(&q);
}
