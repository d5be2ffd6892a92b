#include "attention.h"
#include "h5k.h"
#include "table.h"

extern const h5k_table h5k_table_v3, h5k_table_v4;
extern const h5k_attention_loops h5k_attention_v2, h5k_attention_v3, h5k_attention_v4;

static const h5k_attention_loops *loops(void) {
#ifdef __x86_64__
	if (h5k_isa == &h5k_table_v4)
		return &h5k_attention_v4;
	if (h5k_isa == &h5k_table_v3)
		return &h5k_attention_v3;
#endif
	return &h5k_attention_v2;
}

/* Blocks of queries, and heads of keys, are computed by one thread each, so that results do not depend on their number. */
static int run(h5k_attention_call *c, int64_t parts, h5k_body *body) {
	const h5k_attention *g = c->g;
	double work = (double)g->n * g->heads * g->groups * g->t * g->s * (g->d + g->e);
	H5K_ENTER;
	h5k_spread(parts, work < 1 << 17 ? INT64_MAX : 2, body, c);
	H5K_LEAVE;
	return c->failed ? -1 : 0;
}

int h5k_attend(const h5k_attention *g, float *y, float *lse, const float *q, const float *k, const float *v, const void *mask) {
	h5k_attention_call c = {.g = g, .q = q, .k = k, .v = v, .mask = mask, .y = y, .lse = lse};
	int64_t blocks = (g->t + H5K_ATTENTION_ROWS - 1) / H5K_ATTENTION_ROWS;
	return run(&c, g->n * g->heads * g->groups * blocks, loops()->forward);
}

int h5k_attend_grad(const h5k_attention *g, float *dq, float *dk, float *dv, const float *q, const float *k, const float *v, const float *y, const float *dy, const float *lse, const void *mask) {
	h5k_attention_call c = {.g = g, .q = q, .k = k, .v = v, .mask = mask, .y_in = y, .dy = dy, .lse_in = lse, .dq = dq, .dk = dk, .dv = dv};
	return run(&c, g->n * g->heads, loops()->backward);
}
