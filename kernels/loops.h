/* What Go calls, and what the loops behind it share.
 *
 * The loops themselves (real.h, bits.h, …) are compiled once for each level of x86-64
 * by isa_v2.c, isa_v3.c and isa_v4.c, which fill one table each; isa.c chooses a table
 * when the program starts. */
#ifndef H5K_LOOPS_H
#define H5K_LOOPS_H

#include "h5k.h"

enum { H5K_F32, H5K_F64, H5K_REALS };      /* the types C computes in */
enum { H5K_RANK = 8, H5K_OPERANDS = 4 };

/* Equally shaped arrays, coalesced; the first one's strides are positive and fall from
 * axis to axis. Strides count elements, whose size may differ between arrays. */
typedef struct {
	int64_t rank; /* at least 1 */
	int64_t shape[H5K_RANK];
	int64_t stride[H5K_OPERANDS][H5K_RANK];
} h5k_grid;

/* The name's line in ops.h, or -1. */
int h5k_find(const char *name);

/* z = op(x, y; a, b). An operation of one input is given it twice. */
void h5k_elementwise(int op, int real, const h5k_grid *g, void *z, const void *x, const void *y, double a, double b);

/* z = x, elements of size 1, 2, 4, 8 or 16 bytes. */
void h5k_copy(int size, const h5k_grid *g, void *z, const void *x);

/* z = cond ? x : y, elements of such a size; cond is bytes. */
void h5k_where(int size, const h5k_grid *g, void *z, const void *cond, const void *x, const void *y);

/* z = x·a + b as a real. kind of x: see H5K_FROM in cast.h. */
void h5k_cast(int from, int real, const h5k_grid *g, void *z, const void *x, double a, double b);

/* The name of the table in use. */
const char *h5k_isa_name(void);

#endif
