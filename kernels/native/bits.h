/* Loops that move elements without looking at them. */

typedef struct { uint64_t lo, hi; } h5k_pair;

/* A transpose goes by tiles of 16 by 16 through a buffer: however far apart the lines, each
 * is read once and written once while it is in cache, and asked for a tile ahead. */
#define BITS(size, word) \
	static void where_##size(int64_t n, void *zs, const void *cs, const void *xs, const void *ys, const double *constants) { \
		word *z = zs; \
		const word *x = xs, *y = ys; \
		const uint8_t *c = cs; \
		(void)constants; \
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
		for (int64_t i0 = 0; i0 < na; i0 += 16) \
			for (int64_t j0 = 0; j0 < nb; j0 += 16) { \
				int64_t i1 = i0 + 16 < na ? i0 + 16 : na, j1 = j0 + 16 < nb ? j0 + 16 : nb; \
				if (sa != 1 || db != 1 || i1 - i0 < 16 || j1 - j0 < 16) { \
					for (int64_t i = i0; i < i1; i++) \
						for (int64_t j = j0; j < j1; j++) \
							dst[i * da + j * db] = src[i * sa + j * sb]; \
					continue; \
				} \
				word t[16][16]; \
				for (int64_t j = 0; j < 16; j++) { \
					const word *from = src + i0 + (j0 + j) * sb; \
					__builtin_prefetch(from + 16 * sb); \
					memcpy(t[j], from, sizeof t[j]); \
				} \
				for (int64_t i = 0; i < 16; i++) { \
					word *to = dst + (i0 + i) * da + j0; \
					__builtin_prefetch(to + 16, 1); \
					for (int64_t j = 0; j < 16; j++) \
						to[j] = t[j][i]; \
				} \
			} \
	}
BITS(1, uint8_t)
BITS(2, uint16_t)
BITS(4, uint32_t)
BITS(8, uint64_t)
BITS(16, h5k_pair)
#undef BITS
