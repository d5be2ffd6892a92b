/* The table of loops that each instruction set fills. */
#ifndef H5K_TABLE_H
#define H5K_TABLE_H

#include "loops.h"
#include "ops.h"
#include "reductions.h"
#include "updates.h"

/* The number of additions that pay for waking the pool: see BenchmarkGrain. */
enum { H5K_GRAIN = 1 << 16 };

static inline int64_t h5k_count(const h5k_grid *g) {
	int64_t n = 1;
	for (int axis = 0; axis < g->rank; axis++)
		n *= g->shape[axis];
	return n;
}

/* The offset of an operand's i-th element. */
static inline int64_t h5k_place(const h5k_grid *g, int operand, int64_t i) {
	int64_t at = 0;
	for (int axis = g->rank - 1; axis > 0; axis--) {
		at += i % g->shape[axis] * g->stride[operand][axis];
		i /= g->shape[axis];
	}
	return at + i * g->stride[operand][0];
}

/* Row i's label. Every label was found to be one of the columns. */
static inline int64_t h5k_integer(const void *at, int64_t i, int size, int sign) {
	switch (size) {
	case 1: return sign ? ((const int8_t *)at)[i] : ((const uint8_t *)at)[i];
	case 2: return sign ? ((const int16_t *)at)[i] : ((const uint16_t *)at)[i];
	case 4: return sign ? (int64_t)((const int32_t *)at)[i] : (int64_t)((const uint32_t *)at)[i];
	default: return ((const int64_t *)at)[i]; /* beyond int64, a uint64 is negative */
	}
}

static inline int64_t h5k_label(const h5k_labelled *in, int64_t i) { return h5k_integer(in->labels, i * in->step, in->size, in->sign); }

/* A loop over n adjacent elements: z from x, y and w, as many as it has. */
typedef void h5k_loop(int64_t n, void *z, const void *x, const void *y, const void *w, const double *constants);

#define OP(name, types, inputs, result, cost, formula) H5K_OP_##name,
enum { H5K_OPS(OP) H5K_NOPS };
#undef OP

#define UPDATE(name, buffers, changing, terms, statements, formula) H5K_UPDATE_##name,
enum { H5K_UPDATES(UPDATE) H5K_NUPDATES };
#undef UPDATE

/* The types that casts start from: 16-bit floats are loaded as float. */
enum { H5K_U8, H5K_U16, H5K_U32, H5K_U64, H5K_I8, H5K_I16, H5K_I32, H5K_I64, H5K_FROM_F32, H5K_FROM_F64, H5K_FROMS, H5K_FROM_F16 = H5K_FROMS, H5K_FROM_BF16 };
enum { H5K_SIZES = 5 }; /* of elements: 1 << 0 to 4 bytes */

typedef struct {
	const char *name;
	h5k_loop *op[H5K_NOPS][H5K_COMPUTED]; /* NULL for integers if it has none */
	void (*load_half[2])(int64_t n, float *z, const uint16_t *x);
	void (*store_half[2])(int64_t n, uint16_t *z, const float *x);
	h5k_loop *cast[H5K_FROMS][H5K_REALS];
	h5k_loop *where[H5K_SIZES];
	/* memcpy around the cache, which asks for the lines after it of two operands at the same pace. */
	void (*stream)(char *dst, const char *src, int64_t bytes, const char *next, const char *other);
	/* dst[i·da + j·db] = src[i·sa + j·sb] for i < na, j < nb. */
	void (*copy[H5K_SIZES])(char *dst, int64_t da, int64_t db, const char *src, int64_t sa, int64_t sb, int64_t na, int64_t nb);
	int (*reduce[H5K_ELEMENTS])(int op, int wide, const h5k_grid *kept, const h5k_grid *over, const void *x, void *y, const void *m, double divisor);
	int (*lines[H5K_ELEMENTS])(int line, const h5k_grid *kept, int64_t n, const int64_t *step, void *z, const void *x, void *y);
	void (*layer_norm[H5K_REALS])(int64_t rows, int64_t n, double epsilon, int64_t x_row, int64_t y_row, const void *x, const void *gamma, const void *beta, void *y, void *mean, void *invstd);
	int (*layer_norm_grad[H5K_REALS])(int64_t rows, int64_t n, int64_t x_row, int64_t dy_row, int64_t dx_row, const void *x, const void *dy, const void *mean, const void *invstd, const void *gamma, void *dx, void *dgamma, void *dbeta);
	double (*square_sum[H5K_REALS])(int64_t n, const void *x, double scale);
	int (*cross_entropy[H5K_REALS])(const h5k_labelled *in, void *loss, void *dx, int64_t dx_row, int64_t dx_col);
	int64_t (*correct[H5K_REALS])(const h5k_labelled *in);
	int (*squared_error[H5K_REALS])(int64_t n, const void *x, const void *y, void *loss, void *dx);
	void (*update[H5K_NUPDATES][H5K_REALS])(int64_t n, const void *g, void *p, void *const *s, const double *terms);
	void (*draw[H5K_REALS])(int what, const h5k_grid *g, void *y, const void *x, int64_t index, uint64_t seed, uint64_t stream, double a, double b);
	int (*act_grad_bias[H5K_REALS])(int act, double scale, int64_t rows, int64_t cols, const void *y, const void *dy, void *dz, void *db);
	void (*max_grad[H5K_REALS])(const h5k_grid *kept, const h5k_grid *over, void *dx, const void *x, const void *y, const void *dy);
} h5k_table;

extern const h5k_table *h5k_isa;

#endif
