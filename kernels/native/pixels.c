#include "pixels.h"
#include "dnnl_plan.h"
#include "table.h"
#include <string.h>

extern const h5k_table h5k_table_v3, h5k_table_v4;
extern const h5k_pixel_table h5k_pixels_v2, h5k_pixels_v3, h5k_pixels_v4;

static const h5k_pixel_loops *loops(int real) {
#ifdef __x86_64__
	if (h5k_isa == &h5k_table_v4)
		return &h5k_pixels_v4.real[real];
	if (h5k_isa == &h5k_table_v3)
		return &h5k_pixels_v3.real[real];
#endif
	return &h5k_pixels_v2.real[real];
}

enum { GRAIN = 1 << 14 }; /* elements that are worth waking the pool for */

typedef struct {
	const h5k_pixel_loops *loops;
	const h5k_windows *g;
	void *out;
	int32_t *at;
	const void *in, *y;
	const int32_t *from;
} pooling;

static void max_part(void *arg, int64_t from, int64_t to) {
	pooling *p = arg;
	p->loops->max_pool(p->g, from, to, p->out, p->at, p->in);
}

static void max_grad_part(void *arg, int64_t from, int64_t to) {
	pooling *p = arg;
	p->loops->max_pool_grad(p->g, from, to, p->out, p->in, p->from, p->y);
}

static void avg_part(void *arg, int64_t from, int64_t to) {
	pooling *p = arg;
	p->loops->avg_pool(p->g, from, to, p->out, p->in);
}

static void avg_grad_part(void *arg, int64_t from, int64_t to) {
	pooling *p = arg;
	p->loops->avg_pool_grad(p->g, from, to, p->out, p->in);
}

/* spread shares rows of pixels out, each of so many elements. */
static void spread(int64_t rows, int64_t elements, h5k_body *body, void *arg) {
	H5K_ENTER;
	h5k_spread(rows, elements ? GRAIN / elements : 0, body, arg);
	H5K_LEAVE;
}

static int64_t rows(const h5k_windows *g, const int64_t size[3]) { return g->n * size[0] * size[1]; }

void h5k_max_pool(int real, const h5k_windows *g, void *y, int32_t *at, const void *x) {
	pooling p = {.loops = loops(real), .g = g, .out = y, .at = at, .in = x};
	spread(rows(g, g->out), g->c * g->size[2] * g->kernel[0] * g->kernel[1], max_part, &p);
}

void h5k_max_pool_grad(int real, const h5k_windows *g, void *dx, const void *dy, const int32_t *at, const void *y) {
	pooling p = {.loops = loops(real), .g = g, .out = dx, .in = dy, .from = at, .y = y};
	spread(rows(g, g->apart ? g->out : g->size), g->c * g->size[2], max_grad_part, &p);
}

void h5k_avg_pool(int real, const h5k_windows *g, void *y, const void *x) {
	pooling p = {.loops = loops(real), .g = g, .out = y, .in = x};
	spread(rows(g, g->out), g->c * g->size[2] * g->kernel[0] * g->kernel[1], avg_part, &p);
}

void h5k_avg_pool_grad(int real, const h5k_windows *g, void *dx, const void *dy) {
	pooling p = {.loops = loops(real), .g = g, .out = dx, .in = dy};
	spread(rows(g, g->size), g->c * g->size[2], avg_grad_part, &p);
}

/* Pixels are split into parts, whose number and bounds depend on the number of pixels only. */
enum { PARTS = 64, PART = 512 };

typedef struct {
	const h5k_pixel_loops *loops;
	const h5k_channels *g;
	int64_t parts; /* of the l pixels of each n */
	double *sums;
	void *y;
	const void *dy, *mask, *x;
	const double *pivot;
	const void *constants[4];
} channels;

static int64_t parts_of(const h5k_channels *g) {
	int64_t parts = (g->l + PART - 1) / PART;
	return parts < PARTS ? parts : PARTS;
}

/* Images are summed in as many groups as there may be, and each group's in parts. */
static int64_t groups_of(const h5k_channels *g) { return g->n < PARTS ? g->n : PARTS; }

static void sums_part(void *arg, int64_t from, int64_t to) {
	channels *c = arg;
	const h5k_channels *g = c->g;
	int64_t groups = groups_of(g);
	for (int64_t i = from; i < to; i++) {
		int64_t group = i / c->parts, part = i % c->parts;
		double *sums = c->sums + i * 2 * g->c;
		memset(sums, 0, 2 * g->c * sizeof *sums);
		for (int64_t n = g->n * group / groups; n < g->n * (group + 1) / groups; n++)
			c->loops->channel_sums(g, n, g->l * part / c->parts, g->l * (part + 1) / c->parts, sums, c->dy, c->mask, c->x, c->pivot);
	}
}

int h5k_channel_sums(int real, const h5k_channels *g, double *sums, const void *dy, const void *mask, const void *x, const double *pivot) {
	channels c = {.loops = loops(real), .g = g, .parts = parts_of(g), .dy = dy, .mask = mask, .x = x, .pivot = pivot};
	int64_t parts = groups_of(g) * c.parts;
	c.sums = h5k_scratch(parts * 2 * g->c * sizeof *sums);
	if (!c.sums)
		return -1;
	spread(parts, g->n * g->l * g->c / (parts ? parts : 1), sums_part, &c);
	memset(sums, 0, 2 * g->c * sizeof *sums);
	for (int64_t i = 0; i < parts; i++)
		for (int64_t k = 0; k < 2 * g->c; k++)
			sums[k] += c.sums[i * 2 * g->c + k];
	return 0;
}

static void map_part(void *arg, int64_t from, int64_t to) {
	channels *c = arg;
	const h5k_channels *g = c->g;
	for (int64_t i = from; i < to; i++) {
		int64_t n = i / c->parts, part = i % c->parts;
		c->loops->channel_map(g, n, g->l * part / c->parts, g->l * (part + 1) / c->parts, c->y, c->x, c->dy, c->mask, c->constants);
	}
}

int h5k_channel_map(int real, const h5k_channels *g, void *y, const void *x, const void *dy, const void *mask, const double *constants) {
	channels c = {.loops = loops(real), .g = g, .parts = parts_of(g), .y = y, .x = x, .dy = dy, .mask = mask};
	float *narrow = h5k_scratch(4 * g->c * sizeof *narrow);
	if (!narrow)
		return -1;
	for (int64_t i = 0; i < 4 * g->c && real == H5K_F32; i++)
		narrow[i] = constants[i];
	for (int64_t i = 0; i < 4; i++)
		c.constants[i] = real == H5K_F32 ? (void *)(narrow + i * g->c) : (void *)(constants + i * g->c);
	int64_t parts = g->n * c.parts;
	spread(parts, g->n * g->l * g->c / (parts ? parts : 1), map_part, &c);
	return 0;
}
