/* The elementwise operations that integers have, in REAL: an integer type. Sums, differences
 * and products wrap around. */

#define FABS(x) ((x) > 0 ? (x) : -(x))
#define OP_FLOATS(name, inputs, result, formula)
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
#undef OP_FLOATS
#undef FABS
