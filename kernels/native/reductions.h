/* The reductions along axes, one line each:
 *
 *	REDUCTION(name, types, start, what x counts for, join of a and b)
 *
 * The result is start joined with what every element x counts for. m is a number for each
 * result, an operand of the reductions that name it. types are FLOATS, or ANY for integers too;
 * LEAST and MOST are the limits of a type. Joins must be right for NaN: it wins. */
#ifndef H5K_REDUCTIONS_H
#define H5K_REDUCTIONS_H

#define H5K_REDUCTIONS(REDUCTION) \
	REDUCTION(sum, ANY, 0, x, a + b) \
	REDUCTION(max, ANY, LEAST, x, ((a > b) | (a != a)) ? a : b) \
	REDUCTION(min, ANY, MOST, x, ((a < b) | (a != a)) ? a : b) \
	REDUCTION(squares, FLOATS, 0, (x - m) * (x - m), a + b)

#define REDUCTION(name, types, start, counts, join) H5K_REDUCE_##name,
enum { H5K_REDUCTIONS(REDUCTION) H5K_NREDUCTIONS };
#undef REDUCTION

#endif
