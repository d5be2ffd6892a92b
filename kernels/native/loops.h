/* What Go calls, and what the loops behind it share.
 *
 * The loops themselves (real.h, bits.h, …) are compiled once for each level of x86-64
 * by isa_v2.c, isa_v3.c and isa_v4.c, which fill one table each; isa.c chooses a table
 * when the program starts. */
#ifndef H5K_LOOPS_H
#define H5K_LOOPS_H

#include "h5k.h"

enum { H5K_F32, H5K_F64, H5K_REALS }; /* the types C computes in */
/* Types that elementwise operations take beside these: integers, and 16-bit floats, which are computed as float. */
enum { H5K_EI8 = H5K_REALS, H5K_EU8, H5K_EI16, H5K_EU16, H5K_EI32, H5K_EU32, H5K_EI64, H5K_EU64, H5K_COMPUTED, H5K_EF16 = H5K_COMPUTED, H5K_EBF16, H5K_ELEMENTS };
enum { H5K_RANK = 8, H5K_OPERANDS = 4 };

/* Equally shaped arrays, coalesced; the first one's strides are positive and fall from
 * axis to axis. Strides count elements, whose size may differ between arrays. */
typedef struct {
	int64_t rank; /* at least 1 */
	int64_t shape[H5K_RANK];
	int64_t stride[H5K_OPERANDS][H5K_RANK];
	uint64_t magic[H5K_RANK], shift[H5K_RANK]; /* these are for GPUs: see pack.go */
	uint32_t pack, rows;
} h5k_grid;

/* The name's line in ops.h, or -1. */
int h5k_find(const char *name);

/* Whether the operation takes that type. */
int h5k_takes(int op, int type);

/* Elementwise operations whose operands have more bytes in all write results around the cache. */
void h5k_set_cache(int64_t bytes);

/* z = op(x, y, w; a, b). An operation of one input is given it twice; w is NULL unless there are three. */
void h5k_elementwise(int op, int type, const h5k_grid *g, void *z, const void *x, const void *y, const void *w, double a, double b);

/* z = op(x) for n adjacent floats; z may be x. The caller has called H5K_ENTER. */
void h5k_activate(int op, int64_t n, float *z, const float *x);

/* z = x, elements of size 1, 2, 4, 8 or 16 bytes. */
void h5k_copy(int size, const h5k_grid *g, void *z, const void *x);

/* z = cond ? x : y, elements of such a size; cond is bytes. */
void h5k_where(int size, const h5k_grid *g, void *z, const void *cond, const void *x, const void *y);

/* y = x at the index along an axis of n, where x is at step·index from its place in g, of y, x and the index. Returns
 * 0, having written nothing, if an index is not in [0, n). */
int h5k_gather_along(int size, const h5k_grid *g, int64_t step, int64_t n, void *y, const void *x, const int64_t *index);

/* y = x at the index of y, or y += x, in the order of the first operand of g; the others are y, x and the index.
 * The result does not depend on the number of threads. Type matters to sums only. */
int h5k_scatter_along(int add, int type, int size, const h5k_grid *g, int64_t step, int64_t n, void *y, const void *x, const int64_t *index);

/* z = x·a + b as a real or, computed as float, a 16-bit float: H5K_EF16. kind of x: see H5K_FROM. */
void h5k_cast(int from, int to, const h5k_grid *g, void *z, const void *x, double a, double b);

/* The reduction's line in reductions.h, or -1; *any tells whether it takes integers. */
int h5k_find_reduction(const char *name, int *any);

/* y = op x/divisor over the axes of over, for each place in kept, whose first operand is x, second y and third m, or NULL.
 * y has the type of x or, if wide, of its totals: float64, int64, or uint64 for uint64. The functions from here on
 * return 0 if they found no memory. */
int h5k_reduce(int op, int type, int wide, const h5k_grid *kept, const h5k_grid *over, const void *x, void *y, const void *m, double divisor);

/* dx = dy where x = y, shared by equals: kept holds dx, x, y and dy, over dx and x. */
void h5k_max_grad(int real, const h5k_grid *kept, const h5k_grid *over, void *dx, const void *x, const void *y, const void *dy);

/* z from x and y, line by line: n elements, step[0], step[1] and step[2] apart. The results of ARGMAX, z, and of
 * MAX_INDEX, z and the indices y, are single elements. Indices are int64.
 * Integers have the two of the largest element. */
enum { H5K_SOFTMAX, H5K_LOG_SOFTMAX, H5K_SOFTMAX_GRAD, H5K_LOG_SOFTMAX_GRAD, H5K_ARGMAX, H5K_MAX_INDEX, H5K_CUMSUM };
int h5k_lines(int line, int type, const h5k_grid *kept, int64_t n, int64_t step0, int64_t step1, int64_t step2, void *z, const void *x, void *y);

/* The first k elements z of each line of n elements x in ascending or descending order, and their indices, int64: of equal
 * elements the one with the smaller index is first. NaN is the largest element, −0 is 0. kept holds z, x and the indices. kind says
 * what elements of size 1, 2, 4 or 8 bytes are: H5K_FLOATING ones have infinity's bits. */
enum { H5K_UNSIGNED, H5K_SIGNED, H5K_FLOATING };
typedef struct {
	int size, kind, descending;
	uint64_t infinity;
	int64_t n, k, step[3]; /* of z, x and the indices */
} h5k_order;
int h5k_sort(const h5k_order *order, const h5k_grid *kept, void *z, const void *x, int64_t *index);

/* y = gamma·(x − mean)·invstd + beta for each row of n adjacent elements, rows x_row and y_row apart; gamma and beta may be NULL. */
void h5k_layer_norm(int real, int64_t rows, int64_t n, double epsilon, int64_t x_row, int64_t y_row, const void *x, const void *gamma, const void *beta, void *y, void *mean, void *invstd);

/* The gradients of layer norm; gamma, dgamma and dbeta may be NULL, all of them. */
int h5k_layer_norm_grad(int real, int64_t rows, int64_t n, int64_t x_row, int64_t dy_row, int64_t dx_row, const void *x, const void *dy, const void *mean, const void *invstd, const void *gamma, void *dx, void *dgamma, void *dbeta);

/* The sum of x² of n adjacent elements, each multiplied by scale before; -1 if there was no memory. */
double h5k_square_sum(int real, int64_t n, const void *x, double scale);

/* Rows of logits and their labels: integers of some size. */
typedef struct {
	int64_t rows, cols, row, col; /* shape and strides of x */
	int64_t step;                 /* between labels, in elements */
	int size, sign;
	const void *x, *labels;       /* set in C */
} h5k_labelled;

/* The first row whose label is not in [0, cols), or -1; then *label is it. */
int64_t h5k_bad_label(const h5k_labelled *in, const void *labels, int64_t *label);

/* y, step apart, is 1, or 0 where ignores and the label is ignored. The first row with any other label outside of [0, cols), or -1. */
int64_t h5k_label_mask(int real, const h5k_labelled *in, const void *labels, int ignores, int64_t ignored, void *y, int64_t step, int64_t *label);

/* dx may be NULL. */
int h5k_cross_entropy(int real, const h5k_labelled *in, const void *x, const void *labels, void *loss, void *dx, int64_t dx_row, int64_t dx_col);
int64_t h5k_correct(int real, const h5k_labelled *in, const void *x, const void *labels);

/* The following take adjacent elements only. dx may be NULL. */
int h5k_squared_error(int real, int64_t n, const void *x, const void *y, void *loss, void *dx);

/* The name of a line of updates.h, its number of buffers, and how many numbers change from step to step; NULL after the last. */
const char *h5k_update_line(int update, int *buffers, int *changing);

/* Line update of updates.h, with the settings a and the numbers x that change. s1, s2 and s3 are NULL where it has no such buffer. */
void h5k_update(int update, int real, int64_t n, const void *g, void *p, void *s1, void *s2, void *s3, const double *a, const double *x, double skipped);

/* dz = dy·act'(y) and db, its sums over rows, of rows × cols adjacent elements. */
int h5k_act_grad_bias(int act, double scale, int real, int64_t rows, int64_t cols, const void *y, const void *dy, void *dz, void *db);

/* y from random numbers; the grid's last operand is row-major indices, from index on. */
enum { H5K_UNIFORM, H5K_NORMAL, H5K_DROPOUT };
void h5k_draw(int what, int real, const h5k_grid *g, void *y, const void *x, int64_t index, uint64_t seed, uint64_t stream, double a, double b);

/* The name of the table in use. */
const char *h5k_isa_name(void);

#endif
