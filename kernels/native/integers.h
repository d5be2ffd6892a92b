/* The elementwise operations that integers have, and the largest element of lines, in REAL: an integer type. Sums, differences
 * and products wrap around. */

#define FABS(x) ((x) > 0 ? (x) : -(x))

/* A quotient by 0 is 0, and a remainder too, as NumPy's are. The least integer divided by −1 wraps around to itself. */
enum { REAL_(signed) = (REAL)-1 < (REAL)1, REAL_(width) = 8 * sizeof(REAL) };
static inline REAL REAL_(fmod)(REAL x, REAL y) { return y == 0 || (REAL_(signed) && y == (REAL)-1) ? 0 : x % y; }
static inline int REAL_(apart)(REAL x, REAL y) { return REAL_(signed) && ((x ^ y) >> (REAL_(width) - 1) & 1); } /* of sign */
static inline REAL REAL_(remainder)(REAL x, REAL y) {
	REAL r = REAL_(fmod)(x, y);
	return r != 0 && REAL_(apart)(r, y) ? r + y : r;
}
static inline REAL REAL_(floor_div)(REAL x, REAL y) {
	if (y == 0)
		return 0;
	if (REAL_(signed) && y == (REAL)-1)
		return (REAL)(0 - (uint64_t)x);
	return x / y - (REAL_(apart)(x, y) && x % y != 0);
}
/* x to the power of y by squaring; 0 for powers that are fractions. */
static inline REAL REAL_(pow)(REAL x, REAL y) {
	uint64_t z = 1, square = x, n = y;
	if (REAL_(signed) && n >> 63)
		return x == 1 ? 1 : x != (REAL)-1 ? 0 : n & 1 ? x : 1;
	for (; n; n >>= 1, square *= square)
		z *= n & 1 ? square : 1;
	return z;
}
/* Shifts by fewer than 0 or more than all bits leave none, or the sign. */
static inline REAL REAL_(shift_left)(REAL x, REAL y) { return (uint64_t)y < REAL_(width) ? (REAL)((uint64_t)x << y) : 0; }
static inline REAL REAL_(shift_right)(REAL x, REAL y) { return x >> ((uint64_t)y < REAL_(width) ? y : REAL_(width) - 1) >> (!REAL_(signed) && (uint64_t)y >= REAL_(width)); }
#define POW REAL_(pow)
#define FMOD REAL_(fmod)
#define REMAINDER REAL_(remainder)
#define FLOOR_DIV REAL_(floor_div)
#define SHIFT_LEFT REAL_(shift_left)
#define SHIFT_RIGHT REAL_(shift_right)

#define OP_FLOATS(name, inputs, result, formula)
#define OP_INTEGERS OP_ANY
#define OP_ANY(name, inputs, result, formula) \
	static void REAL_(op_##name)(int64_t n, void *zs, const void *xs, const void *ys, const void *ws, const double *constants) { \
		result *restrict z = zs; \
		const REAL *px = xs, *py = ys, *pw = inputs > 2 ? ws : xs; \
		(void)constants, (void)py, (void)pw; \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) { \
			REAL x = px[i], y = py[i], w = pw[i]; \
			(void)x, (void)y, (void)w; \
			z[i] = formula; \
		} \
	}
#define OP(name, types, inputs, result, cost, formula) OP_##types(name, inputs, result, formula)
H5K_OPS(OP)
#undef OP
#undef OP_ANY
#undef OP_INTEGERS
#undef OP_FLOATS
#undef POW
#undef FMOD
#undef REMAINDER
#undef FLOOR_DIV
#undef SHIFT_LEFT
#undef SHIFT_RIGHT
#undef FABS

#define TOTAL __typeof__(__builtin_choose_expr((REAL)-1 > 0 && sizeof(REAL) == 8, (uint64_t)0, (int64_t)0))
#define PART TOTAL
#define LEAST ((REAL)-1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(REAL) - 2)) * 2)
#define MOST ((REAL)-1 > 0 ? (TOTAL)(REAL)-1 : (TOTAL)(~(uint64_t)0 >> (65 - 8 * sizeof(REAL)) % 64))
#define IF_FLOATS(...)
#define STORED REAL
#define LOADED(x) (x)
#define STORE(x) (x)
#include "reduce.h"
#undef TOTAL
#undef PART
#undef LEAST
#undef MOST
#undef IF_FLOATS
#undef STORED
#undef LOADED
#undef STORE

/* H5K_ARGMAX and H5K_MAX_INDEX of h5k_lines: the first largest element. */
typedef struct {
	int line;
	const h5k_grid *kept;
	int64_t n;
	const int64_t *step;
	void *z;
	const REAL *x;
	void *y;
} REAL_(indexer);

static void REAL_(some_indices)(void *arg, int64_t from, int64_t to) {
	const REAL_(indexer) *l = arg;
	for (int64_t k = from; k < to; k++) {
		const REAL *x = l->x + h5k_place(l->kept, 1, k);
		const int64_t n = l->n, step = l->step[1], z = h5k_place(l->kept, 0, k), y = h5k_place(l->kept, 2, k);
		REAL top = x[0];
		int64_t index = 0;
		if (step == 1) {
			_Pragma("omp simd reduction(max : top)") for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
		} else
			for (int64_t i = 0; i < n; i++)
				top = x[i * step] > top ? x[i * step] : top;
		while (x[index * step] != top)
			index++;
		if (l->line == H5K_ARGMAX) {
			((int64_t *)l->z)[z] = index;
			continue;
		}
		((REAL *)l->z)[z] = top;
		((int64_t *)l->y)[y] = index;
	}
}

static int REAL_(lines)(int line, const h5k_grid *kept, int64_t n, const int64_t *step, void *z, const void *x, void *y) {
	REAL_(indexer) l = {line, kept, n, step, z, x, y};
	int64_t lines = h5k_count(kept);
	h5k_spread(lines, lines * n < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_indices), &l);
	return 1;
}
