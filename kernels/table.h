/* The table of loops that each instruction set fills. */
#ifndef H5K_TABLE_H
#define H5K_TABLE_H

#include "loops.h"
#include "ops.h"

/* A loop over n adjacent elements: z from x, y and w, as many as it has. */
typedef void h5k_loop(int64_t n, void *z, const void *x, const void *y, const void *w, const double *set);

#define OP(name, result, cost, formula) H5K_OP_##name,
enum { H5K_OPS(OP) H5K_NOPS };
#undef OP

/* The types that casts to reals start from. */
enum { H5K_U8, H5K_U16, H5K_U32, H5K_U64, H5K_I8, H5K_I16, H5K_I32, H5K_I64, H5K_FROM_F32, H5K_FROM_F64, H5K_FROMS };
enum { H5K_SIZES = 5 }; /* of elements: 1 << 0 to 4 bytes */

typedef struct {
	const char *name;
	h5k_loop *op[H5K_NOPS][H5K_REALS];
	h5k_loop *cast[H5K_FROMS][H5K_REALS];
	h5k_loop *where[H5K_SIZES];
	/* dst[i·da + j·db] = src[i·sa + j·sb] for i < na, j < nb. */
	void (*copy[H5K_SIZES])(char *dst, int64_t da, int64_t db, const char *src, int64_t sa, int64_t sb, int64_t na, int64_t nb);
} h5k_table;

extern const h5k_table *h5k_isa;

#endif
