/* What Go calls, but for the elementwise: into the table that was chosen. */
#include "table.h"
#include <math.h>
#include <string.h>

int h5k_find_reduction(const char *name, int *any) {
#define REDUCTION(name, types, start, counts, join) {#name, #types[0] == 'A'},
	static const struct { const char *name; int any; } reductions[] = {H5K_REDUCTIONS(REDUCTION)};
#undef REDUCTION
	for (int op = 0; op < H5K_NREDUCTIONS; op++)
		if (!strcmp(reductions[op].name, name)) {
			*any = reductions[op].any;
			return op;
		}
	return -1;
}

int h5k_reduce(int op, int type, int wide, const h5k_grid *kept, const h5k_grid *over, const void *x, void *y, const void *m, double divisor) {
	H5K_ENTER;
	int done = h5k_isa->reduce[type](op, wide, kept, over, x, y, m, divisor);
	H5K_LEAVE;
	return done;
}

void h5k_max_grad(int real, const h5k_grid *kept, const h5k_grid *over, void *dx, const void *x, const void *y, const void *dy) {
	H5K_ENTER;
	h5k_isa->max_grad[real](kept, over, dx, x, y, dy);
	H5K_LEAVE;
}

int h5k_lines(int line, int type, const h5k_grid *kept, int64_t n, int64_t step0, int64_t step1, int64_t step2, void *z, const void *x, void *y) {
	H5K_ENTER;
	int64_t step[] = {step0, step1, step2};
	int done = h5k_isa->lines[type](line, kept, n, step, z, x, y);
	H5K_LEAVE;
	return done;
}

void h5k_layer_norm(int real, int64_t rows, int64_t n, double epsilon, int64_t x_row, int64_t y_row, const void *x, const void *gamma, const void *beta, void *y, void *mean, void *invstd) {
	H5K_ENTER;
	h5k_isa->layer_norm[real](rows, n, epsilon, x_row, y_row, x, gamma, beta, y, mean, invstd);
	H5K_LEAVE;
}

int h5k_layer_norm_grad(int real, int64_t rows, int64_t n, int64_t x_row, int64_t dy_row, int64_t dx_row, const void *x, const void *dy, const void *mean, const void *invstd, const void *gamma, void *dx, void *dgamma, void *dbeta) {
	H5K_ENTER;
	int done = h5k_isa->layer_norm_grad[real](rows, n, x_row, dy_row, dx_row, x, dy, mean, invstd, gamma, dx, dgamma, dbeta);
	H5K_LEAVE;
	return done;
}

double h5k_square_sum(int real, int64_t n, const void *x, double scale) {
	H5K_ENTER;
	double sum = h5k_isa->square_sum[real](n, x, scale);
	H5K_LEAVE;
	return sum;
}

int64_t h5k_bad_label(const h5k_labelled *in, const void *labels, int64_t *label) {
	for (int64_t i = 0; i < in->rows; i++) {
		*label = h5k_integer(labels, i * in->step, in->size, in->sign);
		if (*label < 0 || *label >= in->cols)
			return i;
	}
	return -1;
}

int64_t h5k_label_mask(int real, const h5k_labelled *in, const void *labels, int ignores, int64_t ignored, void *y, int64_t step, int64_t *label) {
	for (int64_t i = 0; i < in->rows; i++) {
		*label = h5k_integer(labels, i * in->step, in->size, in->sign);
		int ignore = ignores && *label == ignored;
		if (!ignore && (*label < 0 || *label >= in->cols))
			return i;
		if (real == H5K_F32)
			((float *)y)[i * step] = !ignore;
		else
			((double *)y)[i * step] = !ignore;
	}
	return -1;
}

int h5k_cross_entropy(int real, const h5k_labelled *in, const void *x, const void *labels, void *loss, void *dx, int64_t dx_row, int64_t dx_col) {
	H5K_ENTER;
	h5k_labelled l = *in;
	l.x = x, l.labels = labels;
	int done = h5k_isa->cross_entropy[real](&l, loss, dx, dx_row, dx_col);
	H5K_LEAVE;
	return done;
}

int64_t h5k_correct(int real, const h5k_labelled *in, const void *x, const void *labels) {
	H5K_ENTER;
	h5k_labelled l = *in;
	l.x = x, l.labels = labels;
	int64_t correct = h5k_isa->correct[real](&l);
	H5K_LEAVE;
	return correct;
}

int h5k_squared_error(int real, int64_t n, const void *x, const void *y, void *loss, void *dx) {
	H5K_ENTER;
	int done = h5k_isa->squared_error[real](n, x, y, loss, dx);
	H5K_LEAVE;
	return done;
}

#define UPDATE(name, buffers, changing, terms, statements, formula) {#name, buffers, changing},
static const struct {
	const char *name;
	int buffers, changing;
} updates[] = {H5K_UPDATES(UPDATE)};
#undef UPDATE

const char *h5k_update_line(int update, int *buffers, int *changing) {
	if (update >= H5K_NUPDATES)
		return NULL;
	*buffers = updates[update].buffers, *changing = updates[update].changing;
	return updates[update].name;
}

/* The terms are computed here, and so alike for every instruction set. */
#define SQRT sqrt
#define TERM(name, value) *t++ = value;
#define UPDATE(name, buffers, changing, terms, statements, formula) case H5K_UPDATE_##name: terms(TERM) break;
static void update_terms(int update, double *t, const double *a, const double *x, double skipped) {
	(void)skipped;
	switch (update) { H5K_UPDATES(UPDATE) }
}
#undef UPDATE
#undef TERM
#undef SQRT

void h5k_update(int update, int real, int64_t n, const void *g, void *p, void *s1, void *s2, void *s3, const double *a, const double *x, double skipped) {
	double terms[16];
	void *const s[] = {s1, s2, s3};
	H5K_ENTER;
	update_terms(update, terms, a, x, skipped);
	h5k_isa->update[update][real](n, g, p, s, terms);
	H5K_LEAVE;
}

int h5k_act_grad_bias(int act, double scale, int real, int64_t rows, int64_t cols, const void *y, const void *dy, void *dz, void *db) {
	H5K_ENTER;
	int done = h5k_isa->act_grad_bias[real](act, scale, rows, cols, y, dy, dz, db);
	H5K_LEAVE;
	return done;
}

void h5k_draw(int what, int real, const h5k_grid *g, void *y, const void *x, int64_t index, uint64_t seed, uint64_t stream, double a, double b) {
	H5K_ENTER;
	h5k_isa->draw[real](what, g, y, x, index, seed, stream, a, b);
	H5K_LEAVE;
}
