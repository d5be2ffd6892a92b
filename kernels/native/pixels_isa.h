/* One instruction set's loops: included by pixels_v*.c, which set the compiler's target
 * and define H5K_PIXELS, the table to fill. */
#include "pixels.h"
#include <math.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

typedef struct {
	int64_t lo, hi;
} range;

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* The position of window i along an axis; it may be padding. */
INLINE int64_t begin(const h5k_windows *g, int axis, int64_t i) { return i * g->stride[axis] - g->pad[axis]; }

/* The elements of window i along an axis that are pixels, not padding. */
INLINE range taps(const h5k_windows *g, int axis, int64_t i) {
	int64_t start = begin(g, axis, i), d = g->dilation[axis];
	if (d == 1)
		return (range){most(0, -start), least(g->kernel[axis], g->size[axis] - start)};
	return (range){start < 0 ? (d - 1 - start) / d : 0, start < g->size[axis] ? least(g->kernel[axis], (g->size[axis] - start - 1) / d + 1) : 0};
}

/* The windows that may contain pixel i along an axis: those that begin at most reach before it. */
INLINE range holders(const h5k_windows *g, int axis, int64_t i) {
	int64_t s = g->stride[axis], reach = (g->kernel[axis] - 1) * g->dilation[axis], last = (i + g->pad[axis]) / s;
	int64_t rest = i + g->pad[axis] - last * s;
	return (range){most(0, last - reach / s + (rest > reach % s)), least(g->out[axis], last + 1)};
}

/* The pixels along an axis that belong to window i alone where windows do not overlap: those of
 * its stride, and at the ends all that remain. */
INLINE range cell(const h5k_windows *g, int axis, int64_t i) {
	int64_t start = begin(g, axis, i);
	return (range){i == 0 ? 0 : start, i == g->out[axis] - 1 ? g->size[axis] : start + g->stride[axis]};
}

/* The number of elements of window i along an axis that its mean counts. */
INLINE int64_t counted(const h5k_windows *g, int axis, int64_t i) {
	int64_t start = begin(g, axis, i);
	return g->exclude ? least(start + g->kernel[axis], g->size[axis]) - most(start, 0) : least(start + g->kernel[axis], g->end[axis]) - start;
}

/* A box of elements: their numbers along three axes, and the distances between neighbours, in memory and
 * as indices in an image. */
typedef struct {
	int64_t n[3], step[3], index[3];
} box;

INLINE box box_of(const range t[3], const int64_t step[3], const int64_t index[3]) {
	box b;
	for (int i = 0; i < 3; i++) {
		b.n[i] = most(t[i].hi - t[i].lo, 0);
		b.step[i] = step[i];
		b.index[i] = index[i];
	}
	return b;
}

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REAL_(name) PASTE(name, SUFFIX)

#define REAL float
#define INT int32_t
#define SUFFIX _f32
#ifdef __AVX512F__
#define LOAD_SOME(v, p, m) (v) = (__typeof__(v))_mm512_maskz_loadu_ps((__mmask16)((1u << (m)) - 1), p)
#define STORE_SOME(p, v, m) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (m)) - 1), (__m512)(v))
#define LOAD_SOME_AT(v, p, m) (v) = (__typeof__(v))_mm512_maskz_loadu_epi32((__mmask16)((1u << (m)) - 1), p)
#define STORE_SOME_AT(p, v, m) _mm512_mask_storeu_epi32(p, (__mmask16)((1u << (m)) - 1), (__m512i)(v))
#else
#define LOAD_SOME(v, p, m) memcpy(&(v), p, (m) * sizeof *(p))
#define STORE_SOME(p, v, m) memcpy(p, &(v), (m) * sizeof *(p))
#define LOAD_SOME_AT(v, p, m) LOAD_SOME(v, p, m)
#define STORE_SOME_AT(p, v, m) STORE_SOME(p, v, m)
#endif
#include "pixels_real.h"
#undef REAL
#undef INT
#undef SUFFIX
#undef LOAD_SOME
#undef STORE_SOME
#undef LOAD_SOME_AT
#undef STORE_SOME_AT

#define REAL double
#define INT int64_t
#define SUFFIX _f64
#define LOAD_SOME(v, p, m) memcpy(&(v), p, (m) * sizeof *(p))
#define STORE_SOME(p, v, m) memcpy(p, &(v), (m) * sizeof *(p))
#define LOAD_SOME_AT(v, p, m) LOAD_SOME(v, p, m)
#define STORE_SOME_AT(p, v, m) STORE_SOME(p, v, m)
#include "pixels_real.h"

#define LOOPS(s) {max_pool##s, max_pool_grad##s, avg_pool##s, avg_pool_grad##s, channel_sums##s, channel_map##s}
const h5k_pixel_table H5K_PIXELS = {{LOOPS(_f32), LOOPS(_f64)}};
