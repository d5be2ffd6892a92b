/* Elements by index along one axis: rows of them where the index is the same for all. */
#include "stream.h"
#include "table.h"
#include <string.h>

enum { AHEAD = 8 }; /* rows that are asked for before they are needed */

typedef struct {
	const h5k_grid *g; /* of y, x and the index, after one operand more where y is indexed */
	int first;         /* operand y of g */
	int64_t step, n;   /* of the indexed axis, which has stride 0 in g */
	int64_t size;      /* bytes of an element */
	char *y;
	const char *x;
	const int64_t *index;
	int streams, lines; /* lines: the first axis of g is not the indexed one */
	void (*loop)(int64_t n, char *y, int64_t ys, const char *x, int64_t xs, const int64_t *index, int64_t is, int64_t step, int64_t from, int64_t to);
	int bad; /* an index is not in [0, n) */
} job;

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* The offsets of y, x and the index at element e, and how many elements its row has from there on. */
static int64_t places(const job *j, int64_t e, int64_t *at) {
	const h5k_grid *g = j->g;
	int64_t left = 0;
	at[0] = at[1] = at[2] = 0;
	for (int axis = g->rank - 1; axis >= 0; axis--) {
		int64_t along = axis ? e % g->shape[axis] : e;
		e = axis ? e / g->shape[axis] : 0;
		if (axis == g->rank - 1)
			left = g->shape[axis] - along;
		for (int k = 0; k < 3; k++)
			at[k] += along * g->stride[j->first + k][axis];
	}
	return left;
}

static void prefetch(const char *at, int64_t bytes) {
	for (int64_t i = 0; i < min(bytes, 512); i += 64)
		__builtin_prefetch(at + i);
}

static void find_bad(void *arg, int64_t from, int64_t to) {
	job *j = arg;
	int64_t is = j->g->stride[j->first + 2][j->g->rank - 1];
	for (int64_t e = from, m; e < to; e += m) {
		int64_t at[3];
		m = min(places(j, e, at), to - e);
		for (int64_t i = 0; i < (is ? m : 1); i++)
			if ((uint64_t)j->index[at[2] + i * is] >= (uint64_t)j->n)
				__atomic_store_n(&j->bad, 1, __ATOMIC_RELAXED);
	}
}

/* Whether every index is in [0, n). */
static int all_good(job *j) {
	h5k_spread(h5k_count(j->g), H5K_GRAIN, find_bad, j);
	return !j->bad;
}

#define GATHER(size, word) \
	static void gather_##size(int64_t n, char *ys, int64_t y_step, const char *xs, int64_t x_step, const int64_t *index, int64_t i_step, int64_t step, int64_t from, int64_t to) { \
		word *y = (word *)ys; \
		const word *x = (const word *)xs; \
		(void)from, (void)to; \
		for (int64_t i = 0; i < n; i++) \
			y[i * y_step] = x[i * x_step + index[i * i_step] * step]; \
	}
GATHER(1, uint8_t)
GATHER(2, uint16_t)
GATHER(4, uint32_t)
GATHER(8, uint64_t)
typedef struct { uint64_t lo, hi; } pair;
GATHER(16, pair)

static void gather(void *arg, int64_t from, int64_t to) {
	const job *j = arg;
	const h5k_grid *g = j->g;
	int inner = g->rank - 1, adjacent = g->stride[0][inner] == 1 && g->stride[1][inner] == 1 && g->stride[2][inner] == 0;
	int64_t row = inner ? g->stride[2][inner - 1] : 0, last = h5k_count(g) - AHEAD * g->shape[inner];
	for (int64_t e = from, m; e < to; e += m) {
		int64_t at[3];
		m = min(places(j, e, at), to - e);
		char *y = j->y + at[0] * j->size;
		const char *x = j->x + at[1] * j->size;
		const int64_t *index = j->index + at[2];
		if (!adjacent) {
			j->loop(m, y, g->stride[0][inner], x, g->stride[1][inner], index, g->stride[2][inner], j->step, 0, 0);
			continue;
		}
		if (g->rank == 2 && e < last)
			prefetch(j->x + index[AHEAD * row] * j->step * j->size, m * j->size);
		if (j->streams)
			h5k_stream(y, x + *index * j->step * j->size, m * j->size);
		else
			memcpy(y, x + *index * j->step * j->size, m * j->size);
	}
	if (j->streams)
		h5k_streamed();
}

int h5k_gather_along(int size, const h5k_grid *g, int64_t step, int64_t n, void *y, const void *x, const int64_t *index) {
	int64_t count = h5k_count(g);
	job j = {
		.g = g, .step = step, .n = n, .size = size, .y = y, .x = x, .index = index, .streams = h5k_streams(2 * count * size),
		.loop = size == 1 ? gather_1 : size == 2 ? gather_2 : size == 4 ? gather_4 : size == 8 ? gather_8 : gather_16,
	};
	if (!all_good(&j))
		return 0;
	h5k_spread(count, H5K_GRAIN, gather, &j);
	return 1;
}

/* Elements whose index is in [from, to). */
#define SCATTER(name, word, op) \
	static void name(int64_t n, char *ys, int64_t y_step, const char *xs, int64_t x_step, const int64_t *index, int64_t i_step, int64_t step, int64_t from, int64_t to) { \
		word *y = (word *)ys; \
		const word *x = (const word *)xs; \
		if (i_step) { \
			for (int64_t i = 0; i < n; i++) \
				if (index[i * i_step] >= from && index[i * i_step] < to) \
					y[i * y_step + index[i * i_step] * step] op x[i * x_step]; \
			return; \
		} \
		if (*index < from || *index >= to) \
			return; \
		y += *index * step; \
		if (y_step == 1 && x_step == 1) { \
			_Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] op x[i]; \
			return; \
		} \
		for (int64_t i = 0; i < n; i++) \
			y[i * y_step] op x[i * x_step]; \
	}
SCATTER(put_1, uint8_t, =)
SCATTER(put_2, uint16_t, =)
SCATTER(put_4, uint32_t, =)
SCATTER(put_8, uint64_t, =)
SCATTER(put_16, pair, =)
SCATTER(add_1, uint8_t, +=)
SCATTER(add_2, uint16_t, +=)
SCATTER(add_4, uint32_t, +=)
SCATTER(add_8, uint64_t, +=)
SCATTER(add_f32, float, +=)
SCATTER(add_f64, double, +=)

static void scatter(void *arg, int64_t from, int64_t to) {
	const job *j = arg;
	const h5k_grid *g = j->g;
	int inner = g->rank - 1;
	const int64_t *stride[3] = {g->stride[1], g->stride[2], g->stride[3]};
	int64_t count = h5k_count(g), e = 0, end = count, row = inner ? stride[2][inner - 1] : 0, last = count - AHEAD * g->shape[inner];
	if (j->lines) {
		e = from * (count / g->shape[0]), end = to * (count / g->shape[0]);
		from = 0, to = j->n;
	}
	for (int64_t m; e < end; e += m) {
		int64_t at[3];
		m = min(places(j, e, at), end - e);
		if (g->rank == 2 && !stride[2][1] && e < last) {
			int64_t next = j->index[at[2] + AHEAD * row];
			if (next >= from && next < to) {
				prefetch(j->y + next * j->step * j->size, m * j->size);
				prefetch(j->x + (at[1] + AHEAD * stride[1][0]) * j->size, m * j->size);
			}
		}
		j->loop(m, j->y + at[0] * j->size, stride[0][inner], j->x + at[1] * j->size, stride[1][inner], j->index + at[2], stride[2][inner], j->step, from, to);
	}
}

int h5k_scatter_along(int add, int type, int size, const h5k_grid *g, int64_t step, int64_t n, void *y, const void *x, const int64_t *index) {
	H5K_ENTER;
	job j = {.g = g, .first = 1, .step = step, .n = n, .size = size, .y = y, .x = x, .index = index, .lines = g->stride[1][0] != 0};
	if (!add)
		j.loop = size == 1 ? put_1 : size == 2 ? put_2 : size == 4 ? put_4 : size == 8 ? put_8 : put_16;
	else if (type == H5K_F32 || type == H5K_F64)
		j.loop = type == H5K_F32 ? add_f32 : add_f64;
	else
		j.loop = size == 1 ? add_1 : size == 2 ? add_2 : size == 4 ? add_4 : add_8;
	int good = all_good(&j);
	if (good)
		h5k_spread(j.lines ? g->shape[0] : n, h5k_count(g) < H5K_GRAIN ? INT64_MAX : 2, scatter, &j);
	H5K_LEAVE;
	return good;
}
