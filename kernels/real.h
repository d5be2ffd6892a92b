/* Loops in REAL, which is float and then double. */

#define OP(name, result, cost, formula) \
	static void REAL_(op_##name)(int64_t n, void *zs, const void *xs, const void *ys, const void *ws, const double *set) { \
		result *z = zs, pz[LANES]; \
		const REAL *px = xs, *py = ys, a = set[0], b = set[1]; \
		REAL tx[LANES] = {0}, ty[LANES] = {0}; \
		int64_t whole = n & -LANES, rest = n - whole; \
		(void)ws, (void)a, (void)b, (void)ty; \
		_Pragma("omp simd") for (int64_t i = 0; i < whole; i++) { \
			REAL x = px[i], y = py[i]; \
			(void)x, (void)y; \
			z[i] = formula; \
		} \
		if (rest == 0) \
			return; \
		memcpy(tx, px + whole, rest * sizeof *tx); \
		memcpy(ty, py + whole, rest * sizeof *ty); \
		_Pragma("omp simd") for (int i = 0; i < LANES; i++) { \
			REAL x = tx[i], y = ty[i]; \
			(void)x, (void)y; \
			pz[i] = formula; \
		} \
		memcpy(z + whole, pz, rest * sizeof *z); \
	}
H5K_OPS(OP)
#undef OP

#define CAST(from) \
	static void PASTE(cast_##from, SUFFIX)(int64_t n, void *zs, const void *xs, const void *ys, const void *ws, const double *set) { \
		REAL *z = zs, a = set[0], b = set[1]; \
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

#include "reduce.h"
#include "lines.h"
#include "losses.h"
#include "update.h"
#include "random.h"
