/* Loops in REAL, which is float and then double. */

/* So many elements ahead memory is asked for by loops that compute for a while, whose stores
 * come too late to keep it busy otherwise (exp of 16 MiB: 7 % less time). Loops of cost 1
 * do better without (relu of 8 MiB: 20 % less time). */
enum { REAL_(AHEAD) = 1024 / sizeof(REAL) };
#define AHEAD REAL_(AHEAD)

/* The remainder of a division that rounds towards −∞, which has the sign of y, and its quotient, as Python's. */
static inline REAL REAL_(remainder)(REAL x, REAL y) {
	REAL r = FMOD(x, y);
	return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline REAL REAL_(floor_div)(REAL x, REAL y) {
	REAL r = FMOD(x, y), q = (x - r) / y, whole;
	if (y == 0)
		return x / y;
	if (r != 0 && (r < 0) != (y < 0))
		q -= 1;
	whole = FLOOR(q);
	return q == 0 ? COPYSIGN(0, x / y) : q - whole > (REAL)0.5 ? whole + 1 : whole;
}

#define OP_INTEGERS(name, inputs, result, cost, formula)
#define OP_ANY OP_FLOATS
#define OP(name, types, inputs, result, cost, formula) OP_##types(name, inputs, result, cost, formula)
#define OP_FLOATS(name, inputs, result, cost, formula) \
	static void REAL_(op_##name)(int64_t n, void *zs, const void *xs, const void *ys, const void *ws, const double *constants) { \
		result *z = zs, pz[LANES]; \
		const REAL *px = xs, *py = ys, *pw = inputs > 2 ? ws : xs, a = constants[0], b = constants[1]; \
		REAL tx[LANES] = {0}, ty[LANES] = {0}, tw[LANES] = {0}; \
		int64_t whole = n & -LANES, rest = n - whole; \
		(void)a, (void)b, (void)ty, (void)tw; \
		for (int64_t i = 0; i < whole; i += LANES) { \
			if (cost > 1) \
				__builtin_prefetch(px + i + AHEAD), __builtin_prefetch(py + i + AHEAD), __builtin_prefetch(z + i + AHEAD, 1); \
			if (cost > 1 && inputs > 2) \
				__builtin_prefetch(pw + i + AHEAD); \
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) { \
				REAL x = px[i + k], y = py[i + k], w = pw[i + k]; \
				(void)x, (void)y, (void)w; \
				z[i + k] = formula; \
			} \
		} \
		if (rest == 0) \
			return; \
		memcpy(tx, px + whole, rest * sizeof *tx); \
		memcpy(ty, py + whole, rest * sizeof *ty); \
		memcpy(tw, pw + whole, rest * sizeof *tw); \
		_Pragma("omp simd") for (int i = 0; i < LANES; i++) { \
			REAL x = tx[i], y = ty[i], w = tw[i]; \
			(void)x, (void)y, (void)w; \
			pz[i] = formula; \
		} \
		memcpy(z + whole, pz, rest * sizeof *z); \
	}
H5K_OPS(OP)
#undef OP
#undef OP_FLOATS
#undef OP_ANY
#undef OP_INTEGERS
#undef AHEAD

#define CAST(from) \
	static void PASTE(cast_##from, SUFFIX)(int64_t n, void *zs, const void *xs, const void *ys, const void *ws, const double *constants) { \
		REAL *z = zs, a = constants[0], b = constants[1]; \
		const from *x = xs; \
		(void)ys, (void)ws; \
		if (a == 1 && b == 0) { \
			_Pragma("omp simd") for (int64_t i = 0; i < n; i++) z[i] = x[i]; \
			return; \
		} \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) z[i] = (REAL)x[i] * a + b; \
	}
CAST(uint8_t)
CAST(uint16_t)
CAST(uint32_t)
CAST(uint64_t)
CAST(int8_t)
CAST(int16_t)
CAST(int32_t)
CAST(int64_t)
CAST(float)
CAST(double)
#undef CAST


typedef REAL REAL_(vec) __attribute__((vector_size(64)));

/* The sum of n adjacent elements, which takes half the time of reduce_line. */
static double REAL_(sum)(int64_t n, const REAL *x) {
	enum { W = 64 / sizeof(REAL), DEEP = 32 };
	double total = 0;
	while (n >= 4 * W) {
		REAL_(vec) a = {0}, b = {0}, c = {0}, d = {0}, v[4];
		int64_t m = n < 4 * W * DEEP ? n / (4 * W) : DEEP;
		for (int64_t i = 0; i < m; i++, x += 4 * W) {
			memcpy(v, x, sizeof v);
			a += v[0], b += v[1], c += v[2], d += v[3];
		}
		a = (a + b) + (c + d);
		REAL few = 0;
		for (int k = 0; k < W; k++)
			few += a[k];
		total += few;
		n -= m * 4 * W;
	}
	for (; n > 0; n--)
		total += *x++;
	return total;
}

#define TOTAL double
#define PART REAL
#define LEAST -INFINITY
#define MOST INFINITY
#define IF_FLOATS(...) __VA_ARGS__
#define STORED REAL
#define LOADED(x) (x)
#define STORE(x) (x)
#include "reduce.h"
#undef TOTAL
#undef PART
#undef LEAST
#undef MOST
#undef IF_FLOATS
#include "lines.h"
#undef STORED
#undef LOADED
#undef STORE
#include "losses.h"
#include "layernorm.h"
#include "update.h"
#include "random.h"
