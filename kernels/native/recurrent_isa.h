/* One instruction set's loops: included by recurrent_v*.c, which set the compiler's target
 * and define H5K_RECURRENT_LOOPS, the table to fill. */
#include "ops.h"
#include "recurrent.h"
#include "vector_math.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ROWS samples times four vectors of sums are kept in registers. */
#if defined(__AVX512F__)
enum { BYTES = 64, ROWS = 6 };
#elif defined(__AVX2__)
enum { BYTES = 32, ROWS = 3 };
#else
enum { BYTES = 16, ROWS = 3 };
#endif

/* Weights are prefetched into the first level of the cache AHEAD terms before their use, from MANY samples on: products of fewer take less time. */
enum { AHEAD = 8, MANY = 4 };

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REAL_(name) PASTE(name, SUFFIX)
#define EXP MATH(exp)
#define TANH MATH(tanh)

#define REAL float
#define SUFFIX _f32
#define MATH(name) name##f
#include "recurrent_real.h"
#undef REAL
#undef SUFFIX
#undef MATH

#define REAL double
#define SUFFIX _f64
#define MATH(name) name
#include "recurrent_real.h"

const h5k_recurrent_loops H5K_RECURRENT_LOOPS = {
	.bytes = BYTES,
	.forward = {forward_f32, forward_f64},
	.backward = {backward_f32, backward_f64},
};
