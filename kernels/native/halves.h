/* Conversions between floats of 16 bits and float, which elementwise operations compute in.
 * Subnormal halves are exact, although float's denormals are flushed. */

static inline float value_of_f16(uint16_t h) {
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
	float small = (float)(int32_t)rest * 0x1p-24f;
	uint32_t bits, normal = (rest << 13) + ((rest < 0x7c00 ? 112u : 224u) << 23);
	memcpy(&bits, &small, sizeof bits);
	bits = (rest < 0x400 ? bits : normal) | sign;
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static inline uint16_t f16_of(float x) {
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff, small;
	float magnitude, shifted;
	memcpy(&magnitude, &rest, sizeof magnitude);
	shifted = magnitude + 0.5f; /* whose last bit is 2^-24 */
	memcpy(&small, &shifted, sizeof small);
	small -= 0x3f000000;
	uint32_t normal = (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13;
	uint32_t h = rest < 0x38800000 ? small : rest >= 0x47800000 ? 0x7c00 : normal;
	return sign | (rest > 0x7f800000 ? 0x7e00 : h);
}

static inline float value_of_bf16(uint16_t h) {
	uint32_t bits = (uint32_t)h << 16;
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static inline uint16_t bf16_of(float x) {
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#ifdef __F16C__
/* The processor's conversions, which keep more bits of a NaN. */
static void load_f16(int64_t n, float *restrict z, const uint16_t *restrict x) {
	int64_t i = 0;
	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(z + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
	for (; i < n; i++)
		z[i] = value_of_f16(x[i]);
}
static void store_f16(int64_t n, uint16_t *restrict z, const float *restrict x) {
	int64_t i = 0;
	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128((__m128i *)(z + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	for (; i < n; i++)
		z[i] = f16_of(x[i]);
}
#endif

#define HALF(type) \
	static void load_##type(int64_t n, float *restrict z, const uint16_t *restrict x) { \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) z[i] = value_of_##type(x[i]); \
	} \
	static void store_##type(int64_t n, uint16_t *restrict z, const float *restrict x) { \
		_Pragma("omp simd") for (int64_t i = 0; i < n; i++) z[i] = type##_of(x[i]); \
	}
#ifndef __F16C__
HALF(f16)
#endif
HALF(bf16)
#undef HALF

/* Reductions and lines are computed as float: an element at a time, or a piece of a line. */
#define HALF
#define REAL float
#define STORED uint16_t
#define TOTAL double
#define PART float
#define LEAST -INFINITY
#define MOST INFINITY
#define IF_FLOATS(...) __VA_ARGS__
#define SUFFIX _f16
#define LOADED value_of_f16
#define STORE f16_of
#define LOADS load_f16
#define STORES store_f16
#include "reduce.h"
#include "lines.h"
#undef SUFFIX
#undef LOADED
#undef STORE
#undef LOADS
#undef STORES
#define SUFFIX _bf16
#define LOADED value_of_bf16
#define STORE bf16_of
#define LOADS load_bf16
#define STORES store_bf16
#include "reduce.h"
#include "lines.h"
#undef HALF
#undef REAL
#undef STORED
#undef TOTAL
#undef PART
#undef LEAST
#undef MOST
#undef IF_FLOATS
#undef SUFFIX
#undef LOADED
#undef STORE
#undef LOADS
#undef STORES
