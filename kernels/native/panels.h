/* Results in panels of channels, for direct_isa.h and int8_isa.h: BLOCK pixels times VECTORS vectors of channels are kept in registers. */
#include "vectors.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTORS = 2, BLOCK = 14 };
#elif defined(__AVX2__)
enum { VECTORS = 2, BLOCK = 6 };
#else
enum { VECTORS = 2, BLOCK = 4 };
#endif

enum { LANES = BYTES / sizeof(float), WIDTH = VECTORS * LANES };

/* The first n lanes, or all of them if n is larger. */
#if defined(__AVX512F__)
INLINE __mmask16 some(int64_t n) { return n >= LANES ? 0xffff : (1u << n) - 1; }
INLINE vec load_some(const float *p, int64_t n) { return (vec)_mm512_maskz_loadu_ps(some(n), p); }
INLINE void store_some(float *p, vec v, int64_t n) { _mm512_mask_storeu_ps(p, some(n), (__m512)v); }
#elif defined(__AVX2__)
INLINE __m256i some(int64_t n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < LANES ? n : LANES), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
INLINE vec load_some(const float *p, int64_t n) { return (vec)_mm256_maskload_ps(p, some(n)); }
INLINE void store_some(float *p, vec v, int64_t n) { _mm256_maskstore_ps(p, some(n), (__m256)v); }
#else
INLINE vec load_some(const float *p, int64_t n) {
	vec v = {0};
	for (int64_t i = 0; i < n && i < LANES; i++)
		v[i] = p[i];
	return v;
}
INLINE void store_some(float *p, vec v, int64_t n) {
	for (int64_t i = 0; i < n && i < LANES; i++)
		p[i] = v[i];
}
#endif

/* The larger and the smaller of limits and v. Comparisons with NaN are false, so NaN stays, as the second operand of the instructions. */
#if defined(__AVX512F__)
INLINE vec above(vec low, vec v) { return (vec)_mm512_max_ps((__m512)low, (__m512)v); }
INLINE vec below(vec high, vec v) { return (vec)_mm512_min_ps((__m512)high, (__m512)v); }
#elif defined(__AVX2__)
INLINE vec above(vec low, vec v) { return (vec)_mm256_max_ps((__m256)low, (__m256)v); }
INLINE vec below(vec high, vec v) { return (vec)_mm256_min_ps((__m256)high, (__m256)v); }
#else
INLINE vec above(vec low, vec v) { return choose(v < low, low, v); }
INLINE vec below(vec high, vec v) { return choose(v > high, high, v); }
#endif

/* finish stores n channels of a result, or all lanes, at y, within limits. */
INLINE void finish(vec v, float *y, int64_t n, int64_t sum, vec low, vec high) {
	if (sum)
		v += n >= LANES ? load(y) : load_some(y, n);
	v = below(high, above(low, v));
	if (n >= LANES)
		store(y, v);
	else
		store_some(y, v, n);
}

#define PANEL(pixels) \
	case pixels: \
		if (p->columns > LANES) \
			panel(p, pixels, 2); \
		else \
			panel(p, pixels, 1); \
		break;

/* The cases of a switch over the pixels of a block. */
#if defined(__AVX512F__)
#define PANELS PANEL(1) PANEL(2) PANEL(3) PANEL(4) PANEL(5) PANEL(6) PANEL(7) PANEL(8) PANEL(9) PANEL(10) PANEL(11) PANEL(12) PANEL(13) PANEL(14)
#elif defined(__AVX2__)
#define PANELS PANEL(1) PANEL(2) PANEL(3) PANEL(4) PANEL(5) PANEL(6)
#else
#define PANELS PANEL(1) PANEL(2) PANEL(3) PANEL(4)
#endif
