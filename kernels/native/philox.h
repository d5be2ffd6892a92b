/* Philox4x32-10 (Salmon et al., doi:10.1145/2063384.2063405), for DRAWN elements at a time. */

enum { DRAWN = 4 * LANES };

/* What elements get: their word, the two words of their pair, and whether they are its second. */
typedef struct {
	uint32_t own[DRAWN], first[DRAWN], second[DRAWN];
	int32_t odd[DRAWN];
} h5k_drawn;

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#if defined(__AVX512F__)
typedef __m512i h5k_counters;
#define H5K_OF(name, x) _mm512_##name x
#define H5K_MERGED(even, odd) _mm512_mask_blend_epi32(0xAAAA, even, odd)
#define H5K_XOR(x, y, z) _mm512_ternarylogic_epi32(x, y, z, 0x96)
#define H5K_LOAD(p) _mm512_loadu_si512(p)
#define H5K_STORE(p, x) _mm512_storeu_si512(p, x)
#else
typedef __m256i h5k_counters;
#define H5K_OF(name, x) _mm256_##name x
#define H5K_MERGED(even, odd) _mm256_blend_epi32(even, odd, 0xAA)
#define H5K_XOR(x, y, z) _mm256_xor_si256(_mm256_xor_si256(x, y), z)
#define H5K_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define H5K_STORE(p, x) _mm256_storeu_si256((__m256i *)(p), x)
#endif

/* The high and the low words of the products of x with a number: those of the even words of x, and those of the odd. */
#define H5K_PRODUCTS(high, low, x, by) \
	h5k_counters high, low; \
	{ \
		h5k_counters even = H5K_OF(mul_epu32, (x, by)), odd = H5K_OF(mul_epu32, (H5K_OF(srli_epi64, (x, 32)), by)); \
		high = H5K_MERGED(H5K_OF(srli_epi64, (even, 32)), odd); \
		low = H5K_MERGED(even, H5K_OF(slli_epi64, (odd, 32))); \
	}

static void h5k_philox(uint32_t *restrict a, uint32_t *restrict b, uint32_t *restrict c, uint32_t *restrict d, uint64_t seed) {
	enum { PARTS = LANES * 4 / sizeof(h5k_counters) };
	const h5k_counters m0 = H5K_OF(set1_epi32, ((int)0xD2511F53)), m1 = H5K_OF(set1_epi32, ((int)0xCD9E8D57));
	h5k_counters x[PARTS], y[PARTS], z[PARTS], w[PARTS];
	for (int i = 0; i < PARTS; i++) {
		int at = i * LANES / PARTS;
		x[i] = H5K_LOAD(a + at), y[i] = H5K_LOAD(b + at), z[i] = H5K_LOAD(c + at), w[i] = H5K_LOAD(d + at);
	}
	uint32_t k0 = seed, k1 = seed >> 32;
	for (int round = 0; round < 10; round++) {
		const h5k_counters s0 = H5K_OF(set1_epi32, ((int)k0)), s1 = H5K_OF(set1_epi32, ((int)k1));
		for (int i = 0; i < PARTS; i++) {
			H5K_PRODUCTS(p_high, p_low, x[i], m0)
			H5K_PRODUCTS(q_high, q_low, z[i], m1)
			x[i] = H5K_XOR(q_high, y[i], s0), y[i] = q_low;
			z[i] = H5K_XOR(p_high, w[i], s1), w[i] = p_low;
		}
		k0 += 0x9E3779B9, k1 += 0xBB67AE85;
	}
	for (int i = 0; i < PARTS; i++) {
		int at = i * LANES / PARTS;
		H5K_STORE(a + at, x[i]), H5K_STORE(b + at, y[i]), H5K_STORE(c + at, z[i]), H5K_STORE(d + at, w[i]);
	}
}
#else
static void h5k_philox(uint32_t *restrict a, uint32_t *restrict b, uint32_t *restrict c, uint32_t *restrict d, uint64_t seed) {
	uint32_t k0 = seed, k1 = seed >> 32;
	for (int round = 0; round < 10; round++) {
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint64_t p = (uint64_t)0xD2511F53 * a[k], q = (uint64_t)0xCD9E8D57 * c[k];
			a[k] = (uint32_t)(q >> 32) ^ b[k] ^ k0;
			b[k] = q;
			c[k] = (uint32_t)(p >> 32) ^ d[k] ^ k1;
			d[k] = p;
		}
		k0 += 0x9E3779B9, k1 += 0xBB67AE85;
	}
}
#endif

/* Elements i0, i0 + step, …; four neighbours share a block, if they are asked for in order. Unless pairs is set, the words of pairs are not. */
static inline __attribute__((always_inline)) void h5k_words(h5k_drawn *w, uint64_t i0, int64_t step, uint64_t seed, uint64_t stream, int pairs) {
	uint32_t a[LANES], b[LANES], c[LANES], d[LANES];
	int shared = step == 1 && i0 % 4 == 0;
	for (int part = 0; part < DRAWN; part += LANES) {
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint64_t block = shared ? i0 / 4 + k : (i0 + (part + k) * step) / 4;
			a[k] = block, b[k] = block >> 32, c[k] = stream, d[k] = stream >> 32;
		}
		h5k_philox(a, b, c, d, seed);
		if (shared)
			break;
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint32_t own = (i0 + (part + k) * step) & 3, first = own & 2 ? c[k] : a[k], second = own & 2 ? d[k] : b[k];
			w->own[part + k] = own & 1 ? second : first;
			w->first[part + k] = first, w->second[part + k] = second;
			w->odd[part + k] = own & 1;
		}
	}
	if (!shared)
		return;
	for (int k = 0; k < LANES; k++)
		w->own[4 * k] = a[k], w->own[4 * k + 1] = b[k], w->own[4 * k + 2] = c[k], w->own[4 * k + 3] = d[k];
	for (int k = 0; pairs && k < LANES; k++) {
		w->first[4 * k] = a[k], w->first[4 * k + 1] = a[k], w->first[4 * k + 2] = c[k], w->first[4 * k + 3] = c[k];
		w->second[4 * k] = b[k], w->second[4 * k + 1] = b[k], w->second[4 * k + 2] = d[k], w->second[4 * k + 3] = d[k];
		w->odd[4 * k] = 0, w->odd[4 * k + 1] = 1, w->odd[4 * k + 2] = 0, w->odd[4 * k + 3] = 1;
	}
}
