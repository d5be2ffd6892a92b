/* Stores that do not read the lines they write into the cache first: a third less traffic for a sum of two
 * arrays, if no one reads the result from the cache anyway because the operands do not fit. */
#ifndef H5K_STREAM_H
#define H5K_STREAM_H

#include <stdint.h>
#include <string.h>

/* Whether so many bytes of operands do not fit in the cache, so that results should be streamed. */
int h5k_streams(int64_t bytes);

#ifdef __x86_64__
#include <emmintrin.h>
enum { H5K_STREAMS = 1 };
/* memcpy, around the cache. */
static inline void h5k_stream(char *dst, const char *src, int64_t bytes) {
	int64_t i = -(uintptr_t)dst % 16;
	if (i > bytes)
		i = bytes;
	memcpy(dst, src, i);
	for (; i + 16 <= bytes; i += 16)
		_mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
	memcpy(dst + i, src + i, bytes - i);
}
/* What was streamed can be read by other threads. */
static inline void h5k_streamed(void) { _mm_sfence(); }
#else
enum { H5K_STREAMS = 0 };
static inline void h5k_stream(char *dst, const char *src, int64_t bytes) { memcpy(dst, src, bytes); }
static inline void h5k_streamed(void) {}
#endif

#endif
