#include "recurrent.h"
#include "dnnl_plan.h"
#include "h5k.h"
#include "table.h"
#include <omp.h>
#include <sched.h>
#include <string.h>

extern const h5k_table h5k_table_v3, h5k_table_v4;
extern const h5k_recurrent_loops h5k_recurrent_v2, h5k_recurrent_v3, h5k_recurrent_v4;

static const h5k_recurrent_loops *loops(void) {
#ifdef __x86_64__
	if (h5k_isa == &h5k_table_v4)
		return &h5k_recurrent_v4;
	if (h5k_isa == &h5k_table_v3)
		return &h5k_recurrent_v3;
#endif
	return &h5k_recurrent_v2;
}

enum {
	VECTORS = 4,        /* of a tile */
	ROWS = 4,           /* samples that a thread needs for itself */
	ALONE = 100 * 1000, /* products that are not worth waking a thread for */
	MEET = 30 * 1000,   /* products of a step that are worth waiting for other threads after it */
	SPIN = 4000,
};

static const int sets_of[H5K_CELLS][2] = {[H5K_RNN] = {1}, [H5K_LSTM] = {4}, [H5K_GRU] = {3}, [H5K_GRU_BEFORE] = {2, 1}};

static size_t up(size_t bytes) { return (bytes + 63) / 64 * 64; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t size_of(const h5k_recurrent *g) { return g->real ? sizeof(double) : sizeof(float); }
static int64_t gates_of(const h5k_recurrent *g) { return sets_of[g->cell][0] + sets_of[g->cell][1]; }

/* divide describes the sets of a cell, and returns the number of packed weights. */
static int64_t divide(const h5k_recurrent *g, int backward, h5k_recurrent_set *set, int *sets) {
	const int64_t lanes = loops()->bytes / size_of(g), vectors = (g->hidden + lanes - 1) / lanes;
	int64_t first = 0, at = 0;
	for (*sets = 0; *sets < 2 && sets_of[g->cell][*sets]; ++*sets) {
		h5k_recurrent_set *s = set + *sets;
		s->first = first;
		s->gates = sets_of[g->cell][*sets];
		s->subs = least(backward ? VECTORS : VECTORS / s->gates, vectors);
		s->blocks = (vectors + s->subs - 1) / s->subs;
		s->terms = backward ? s->gates * g->hidden : g->hidden;
		s->size = s->terms * s->subs * lanes * (backward ? 1 : s->gates);
		s->at = at;
		at += s->blocks * s->size;
		first += s->gates;
	}
	return at;
}

int64_t h5k_recurrent_packed(const h5k_recurrent *g) {
	h5k_recurrent_set set[2];
	int sets;
	return divide(g, 0, set, &sets);
}

typedef struct {
	const h5k_recurrent *g;
	h5k_recurrent_set set[2];
	int sets, backward;
	char *packed;
	const char *w;
} packing;

/* Block after block for each term of the sums the weights of units: of each vector and gate, one after another. */
#define PACK(name, real) \
	static void name(const packing *p, const h5k_recurrent_set *s, int64_t block) { \
		const int64_t hidden = p->g->hidden, lanes = loops()->bytes / sizeof(real), gates = p->backward ? 1 : s->gates, wide = s->subs * gates * lanes; \
		const real *w = (const real *)p->w + s->first * hidden * hidden; \
		real *packed = (real *)p->packed + s->at + block * s->size; \
		for (int64_t i = 0; i < wide; i++) { \
			int64_t unit = (block * s->subs + i / (gates * lanes)) * lanes + i % lanes, gate = i / lanes % gates; \
			for (int64_t k = 0; k < s->terms; k++) \
				packed[k * wide + i] = unit >= hidden ? 0 : p->backward ? w[k * hidden + unit] : w[(gate * hidden + unit) * hidden + k]; \
		} \
	}
PACK(pack_f32, float)
PACK(pack_f64, double)

static void pack_part(void *arg, int64_t from, int64_t to) {
	const packing *p = arg;
	for (int64_t i = from; i < to; i++) {
		int set = i >= p->set[0].blocks;
		(p->g->real ? pack_f64 : pack_f32)(p, p->set + set, i - (set ? p->set[0].blocks : 0));
	}
}

static void pack(const h5k_recurrent *g, int backward, void *packed, const void *w) {
	packing p = {.g = g, .backward = backward, .packed = packed, .w = w};
	int64_t n = divide(g, backward, p.set, &p.sets);
	h5k_spread(p.set[0].blocks + (p.sets > 1 ? p.set[1].blocks : 0), n < ALONE ? INT64_MAX : 2, pack_part, &p);
}

void h5k_recurrent_pack(const h5k_recurrent *g, void *packed, const void *w) { pack(g, 0, packed, w); }

void h5k_recurrent_wait(h5k_recurrent_job *q, int of) {
	int turn = __atomic_load_n(&q->turn, __ATOMIC_RELAXED);
	if (__atomic_add_fetch(&q->waiting, 1, __ATOMIC_ACQ_REL) == of) {
		__atomic_store_n(&q->waiting, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&q->turn, turn + 1, __ATOMIC_RELEASE);
		return;
	}
	for (int64_t i = 0; __atomic_load_n(&q->turn, __ATOMIC_ACQUIRE) == turn; i++) {
		if (i > SPIN)
			sched_yield(); /* the other thread may need this processor */
#ifdef __x86_64__
		else
			__builtin_ia32_pause();
#endif
	}
}

/* run calls body on as many threads as the work is worth. */
static void run(h5k_recurrent_job *q, void (*body)(h5k_recurrent_job *q, int thread, int of)) {
	const h5k_recurrent *g = q->g;
	const double step = (double)g->n * g->hidden * gates_of(g) * g->hidden;
	int threads = h5k_threads();
	q->shared = g->n < (int64_t)threads * ROWS;
	if (step * g->steps < ALONE || (q->shared && step < MEET) || omp_in_parallel())
		threads = 1;
	H5K_ENTER;
	if (threads == 1) {
		q->shared = 0;
		body(q, 0, 1);
	} else {
		h5k_team(threads);
#pragma omp parallel num_threads(threads)
		body(q, omp_get_thread_num(), omp_get_num_threads());
	}
	H5K_LEAVE;
}

static void copy(void *to, const void *from, size_t bytes) {
	if (from)
		memcpy(to, from, bytes);
	else
		memset(to, 0, bytes);
}

/* zeros sets operands that are NULL to zeros at scratch, and returns what follows. */
static char *zeros(char *scratch, size_t bytes, const void **a, const void **b) {
	if (*a && *b)
		return scratch;
	memset(scratch, 0, bytes);
	*a = *a ? *a : scratch;
	*b = *b ? *b : scratch;
	return scratch + up(bytes);
}

int h5k_recurrent_forward(const h5k_recurrent *g, const void *packed, const void *w, const void *x, const void *b, const void *h0, const void *c0,
	void *y, void *h, void *c, void *gates, void *extra) {
	const size_t state = g->n * g->hidden * size_of(g), step = gates_of(g) * state;
	const int before = g->cell == H5K_GRU_BEFORE;
	h5k_recurrent_job q = {.g = g, .w = packed, .x = x, .b = b, .h0 = h0, .c0 = c0, .y = y, .gates = gates, .extra = extra};
	const size_t weights = up(divide(g, 0, q.set, &q.sets) * size_of(g));
	char *scratch = h5k_scratch((packed ? 0 : weights) + 3 * up(state) + step);
	if (!scratch)
		return -1;
	if (!packed) {
		pack(g, 0, scratch, w);
		q.w = scratch;
		scratch += weights;
	}
	scratch = zeros(scratch, state, &q.h0, &q.c0);
	if (gates) {
		q.gates_step = step / size_of(g);
		q.extra_step = state / size_of(g);
	} else {
		q.extra = g->cell == H5K_LSTM ? c : before ? scratch : NULL;
		q.gates = before ? scratch + up(state) : NULL;
	}
	run(&q, loops()->forward[g->real]);
	const size_t last = g->reverse ? 0 : (g->steps - 1) * state;
	memcpy(h, (char *)y + last, state);
	if (g->cell == H5K_LSTM && extra)
		memcpy(c, (char *)extra + last, state);
	return 0;
}

int h5k_recurrent_backward(const h5k_recurrent *g, const void *w, const void *h0, const void *c0, const void *y, const void *gates, const void *extra,
	const void *dy, const void *dh, const void *dc, void *dx, void *dp, void *dh0, void *dc0) {
	const size_t state = g->n * g->hidden * size_of(g);
	h5k_recurrent_job q = {.g = g, .h0 = h0, .c0 = c0, .y = (void *)(uintptr_t)y, .gates = (void *)(uintptr_t)gates, .extra = (void *)(uintptr_t)(extra ? extra : gates), .dy = dy,
		.dx = dx, .dp = dp ? dp : dx, .dh = dh0, .dc = dc0, .gates_step = gates_of(g) * g->n * g->hidden, .extra_step = g->n * g->hidden};
	const size_t weights = up(divide(g, 1, q.set, &q.sets) * size_of(g));
	char *scratch = h5k_scratch(weights + state);
	if (!scratch)
		return -1;
	pack(g, 1, scratch, w);
	q.w = scratch;
	zeros(scratch + weights, state, &q.h0, &q.c0);
	copy(dh0, dh, state);
	if (dc0)
		copy(dc0, dc, state);
	run(&q, loops()->backward[g->real]);
	return 0;
}
