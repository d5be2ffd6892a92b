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

/* The taps of window i along an axis that fall on pixels, not on padding. */
INLINE range taps(const h5k_windows *g, int axis, int64_t i) {
	int64_t start = i * g->stride[axis] - g->pad[axis];
	return (range){most(0, -start), least(g->kernel[axis], g->size[axis] - start)};
}

/* The windows that pixel i along an axis lies in. */
INLINE range holders(const h5k_windows *g, int axis, int64_t i) {
	int64_t at = i + g->pad[axis], s = g->stride[axis];
	return (range){most(0, (at - g->kernel[axis] + s) / s * (at >= g->kernel[axis])), least(g->out[axis], at / s + 1)};
}

/* The pixels along an axis that are window i's own where windows do not overlap: its
 * stride's, and at the ends all there are. */
INLINE range cell(const h5k_windows *g, int axis, int64_t i) {
	int64_t start = i * g->stride[axis] - g->pad[axis];
	return (range){i == 0 ? 0 : start, i == g->out[axis] - 1 ? g->size[axis] : start + g->stride[axis]};
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
#else
#define LOAD_SOME(v, p, m) memcpy(&(v), p, (m) * sizeof *(p))
#define STORE_SOME(p, v, m) memcpy(p, &(v), (m) * sizeof *(p))
#endif
#include "pixels_real.h"
#undef REAL
#undef INT
#undef SUFFIX
#undef LOAD_SOME
#undef STORE_SOME

#define REAL double
#define INT int64_t
#define SUFFIX _f64
#define LOAD_SOME(v, p, m) memcpy(&(v), p, (m) * sizeof *(p))
#define STORE_SOME(p, v, m) memcpy(p, &(v), (m) * sizeof *(p))
#include "pixels_real.h"

#define LOOPS(s) {max_pool##s, max_pool_grad##s, avg_pool##s, avg_pool_grad##s, channel_sums##s, channel_map##s}
const h5k_pixel_table H5K_PIXELS = {{LOOPS(_f32), LOOPS(_f64)}};
