/* Loops that move elements without looking at them. */

typedef struct { uint64_t lo, hi; } h5k_pair;

/* Tiles of 16 by 16: however far the strides, a cache line that a tile touches is used
 * up before it can be evicted. */
#define BITS(size, word) \
	static void where_##size(int64_t n, void *zs, const void *cs, const void *xs, const void *ys, const double *set) { \
		word *z = zs; \
		const word *x = xs, *y = ys; \
		const uint8_t *c = cs; \
		(void)set; \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) z[i] = c[i] ? x[i] : y[i]; \
	} \
	static void copy_##size(char *d, int64_t da, int64_t db, const char *s, int64_t sa, int64_t sb, int64_t na, int64_t nb) { \
		word *dst = (word *)d; \
		const word *src = (const word *)s; \
		if (db == 1 && sb == 1) { \
			for (int64_t i = 0; i < na; i++) \
				memcpy(dst + i * da, src + i * sa, nb * size); \
			return; \
		} \
		if (db == 1 && sb == 0) { \
			for (int64_t i = 0; i < na; i++) { \
				word x = src[i * sa]; \
				_Pragma("omp simd") for (int64_t j = 0; j < nb; j++) dst[i * da + j] = x; \
			} \
			return; \
		} \
		if (sa != 1 && da != 1) { \
			for (int64_t i = 0; i < na; i++) \
				for (int64_t j = 0; j < nb; j++) \
					dst[i * da + j * db] = src[i * sa + j * sb]; \
			return; \
		} \
		for (int64_t i0 = 0; i0 < na; i0 += 16) \
			for (int64_t j0 = 0; j0 < nb; j0 += 16) { \
				int64_t i1 = i0 + 16 < na ? i0 + 16 : na, j1 = j0 + 16 < nb ? j0 + 16 : nb; \
				for (int64_t i = i0; i < i1; i++) \
					for (int64_t j = j0; j < j1; j++) \
						dst[i * da + j * db] = src[i * sa + j * sb]; \
			} \
	}
BITS(1, uint8_t)
BITS(2, uint16_t)
BITS(4, uint32_t)
BITS(8, uint64_t)
BITS(16, h5k_pair)
#undef BITS
