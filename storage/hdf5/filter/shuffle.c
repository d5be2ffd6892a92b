#include "shuffle.h"

#include <string.h>

// Both directions are a transposition: n elements of k bytes to k planes of n
// bytes, or back. Sixteen elements are moved at a time where k is 2, 4, 8 or 16.
//
// Held in k vectors of 16 bytes, the byte at plane p, element j has the address
// (p j) = p*16+j. Interleaving the first half of the vectors with the second
// rotates the bits of the address left by one; log2(k) rounds turn (p j) into
// (j p), four rounds turn (j p) into (p j).

#if defined(__SSE2__)
#include <emmintrin.h>
typedef __m128i vec;
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define LOW _mm_unpacklo_epi8
#define HIGH _mm_unpackhi_epi8
#define VECTORS 1
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
typedef uint8x16_t vec;
#define LOAD(p) vld1q_u8(p)
#define STORE(p, v) vst1q_u8(p, v)
#define LOW vzip1q_u8
#define HIGH vzip2q_u8
#define VECTORS 1
#endif

#ifdef VECTORS

static inline __attribute__((always_inline)) void interleave(vec *v, int k, int rounds)
{
	vec next[16];
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < k / 2; i++) {
			next[2 * i] = LOW(v[i], v[i + k / 2]);
			next[2 * i + 1] = HIGH(v[i], v[i + k / 2]);
		}
		for (int i = 0; i < k; i++)
			v[i] = next[i];
	}
}

static inline __attribute__((always_inline)) size_t join(uint8_t *dst, const uint8_t *src, size_t n, int k, int rounds)
{
	size_t j = 0;
	for (vec v[16]; j + 16 <= n; j += 16) {
		for (int p = 0; p < k; p++)
			v[p] = LOAD(src + p * n + j);
		interleave(v, k, rounds);
		for (int p = 0; p < k; p++)
			STORE(dst + j * k + 16 * p, v[p]);
	}
	return j;
}

static inline __attribute__((always_inline)) size_t split(uint8_t *dst, const uint8_t *src, size_t n, int k)
{
	size_t j = 0;
	for (vec v[16]; j + 16 <= n; j += 16) {
		for (int p = 0; p < k; p++)
			v[p] = LOAD(src + j * k + 16 * p);
		interleave(v, k, 4);
		for (int p = 0; p < k; p++)
			STORE(dst + p * n + j, v[p]);
	}
	return j;
}

static size_t join_fast(uint8_t *dst, const uint8_t *src, size_t n, size_t k)
{
	switch (k) {
	case 2: return join(dst, src, n, 2, 1);
	case 4: return join(dst, src, n, 4, 2);
	case 8: return join(dst, src, n, 8, 3);
	case 16: return join(dst, src, n, 16, 4);
	}
	return 0;
}

static size_t split_fast(uint8_t *dst, const uint8_t *src, size_t n, size_t k)
{
	switch (k) {
	case 2: return split(dst, src, n, 2);
	case 4: return split(dst, src, n, 4);
	case 8: return split(dst, src, n, 8);
	case 16: return split(dst, src, n, 16);
	}
	return 0;
}

#else
static size_t join_fast(uint8_t *dst, const uint8_t *src, size_t n, size_t k) { return 0; }
static size_t split_fast(uint8_t *dst, const uint8_t *src, size_t n, size_t k) { return 0; }
#endif

void hdf5_unshuffle(uint8_t *dst, const uint8_t *src, size_t size, size_t k)
{
	size_t n = size / k;
	for (size_t j = join_fast(dst, src, n, k); j < n; j++)
		for (size_t p = 0; p < k; p++)
			dst[j * k + p] = src[p * n + j];
	memcpy(dst + n * k, src + n * k, size - n * k);
}

void hdf5_shuffle(uint8_t *dst, const uint8_t *src, size_t size, size_t k)
{
	size_t n = size / k;
	for (size_t j = split_fast(dst, src, n, k); j < n; j++)
		for (size_t p = 0; p < k; p++)
			dst[p * n + j] = src[j * k + p];
	memcpy(dst + n * k, src + n * k, size - n * k);
}
