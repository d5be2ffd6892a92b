/* One instruction set's loops: included by isa_*.c, which set the compiler's target
 * and define H5K_TABLE, the table to fill. */
#ifdef __clang__ /* it has no libmvec, and says of every loop that it stays scalar */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include "table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Vector mathematics is glibc's libmvec, 4 ulp (x86-64 since 2.22, its tanh and erf since 2.35);
 * it gets NaN, infinities and overflow right. math.h declares it for -ffast-math only.
 * sqrt is ours (vsqrt.c), as C's sets errno, which keeps it from being vectorized. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define H5K_SIMD __attribute__((simd("notinbranch"), const))
H5K_SIMD float expf(float);
H5K_SIMD double exp(double);
H5K_SIMD float logf(float);
H5K_SIMD double log(double);
H5K_SIMD float cosf(float);
H5K_SIMD double cos(double);
#if __GLIBC_PREREQ(2, 35)
H5K_SIMD float tanhf(float);
H5K_SIMD double tanh(double);
H5K_SIMD float erff(float);
H5K_SIMD double erf(double);
#endif
H5K_SIMD float h5k_sqrtf(float);
H5K_SIMD double h5k_sqrt(double);
#else
#define h5k_sqrtf sqrtf
#define h5k_sqrt sqrt
#endif

/* A loop's last few elements are padded to LANES and computed like the others, so that
 * a result does not depend on the position of its element. */
enum { LANES = 16 };

#include "philox.h"

/* ln x. Arithmetic takes subnormal numbers for zero. They are n·2⁻¹⁴⁹ or n·2⁻¹⁰⁷⁴ for integers n, and n is the
 * difference of two normal numbers: the one with the bits of n and of 2²³ or 2⁵², and 2²³ or 2⁵². Masks choose
 * instead of branches, so that loops are vectorized. */
#define H5K_LN(name, ln, real, word, unit, bits, offset) \
	static inline real name(real x) { \
		real y, apart = offset; \
		word n, mask, m = bits; \
		memcpy(&n, &x, sizeof n); \
		mask = -(word)(n - 1 < (word)(unit - 1)); \
		m |= n; \
		memcpy(&y, &m, sizeof m); \
		y -= unit; \
		memcpy(&m, &y, sizeof m); \
		m = (m & mask) | (n & ~mask); \
		memcpy(&x, &m, sizeof m); \
		memcpy(&m, &apart, sizeof m); \
		m &= mask; \
		memcpy(&apart, &m, sizeof m); \
		return ln(x) - apart; \
	}
H5K_LN(h5k_logf, logf, float, uint32_t, 0x1p23f, 0x4B000000, 103.27893f)
H5K_LN(h5k_log, log, double, uint64_t, 0x1p52, 0x4330000000000000, 744.4400719213812)

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REAL_(name) PASTE(name, SUFFIX)

#define REAL float
#define SUFFIX _f32
#define EXP expf
#define LOG h5k_logf
#define COS cosf
#define TANH tanhf
#define ERF erff
#define SQRT h5k_sqrtf
#define FABS fabsf
#include "real.h"
#undef REAL
#undef SUFFIX
#undef EXP
#undef LOG
#undef COS
#undef TANH
#undef ERF
#undef SQRT
#undef FABS

#define REAL double
#define SUFFIX _f64
#define EXP exp
#define LOG h5k_log
#define COS cos
#define TANH tanh
#define ERF erf
#define SQRT h5k_sqrt
#define FABS fabs
#include "real.h"
#undef REAL
#undef SUFFIX
#undef EXP
#undef LOG
#undef COS
#undef TANH
#undef ERF
#undef SQRT
#undef FABS

#define REAL int8_t
#define SUFFIX _i8
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL uint8_t
#define SUFFIX _u8
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL int16_t
#define SUFFIX _i16
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL uint16_t
#define SUFFIX _u16
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL int32_t
#define SUFFIX _i32
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL uint32_t
#define SUFFIX _u32
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL int64_t
#define SUFFIX _i64
#include "integers.h"
#undef REAL
#undef SUFFIX
#define REAL uint64_t
#define SUFFIX _u64
#include "integers.h"

#include "bits.h"
#include "halves.h"

#define INTEGERS_FLOATS(name)
#define INTEGERS_ANY(name) op_##name##_i8, op_##name##_u8, op_##name##_i16, op_##name##_u16, op_##name##_i32, op_##name##_u32, op_##name##_i64, op_##name##_u64
#define OP(name, types, inputs, result, cost, formula) {op_##name##_f32, op_##name##_f64, INTEGERS_##types(name)},
#define CAST(from) {cast_##from##_f32, cast_##from##_f64},
const h5k_table H5K_TABLE = {
	.name = H5K_NAME,
	.op = {H5K_OPS(OP)},
	.load_half = {load_f16, load_bf16},
	.store_half = {store_f16, store_bf16},
	.cast = {CAST(uint8_t) CAST(uint16_t) CAST(uint32_t) CAST(uint64_t) CAST(int8_t) CAST(int16_t) CAST(int32_t) CAST(int64_t) CAST(float) CAST(double)},
	.where = {where_1, where_2, where_4, where_8, where_16},
	.copy = {copy_1, copy_2, copy_4, copy_8, copy_16},
	.reduce = {reduce_f32, reduce_f64, reduce_i8, reduce_u8, reduce_i16, reduce_u16, reduce_i32, reduce_u32, reduce_i64, reduce_u64},
	.lines = {lines_f32, lines_f64, lines_i8, lines_u8, lines_i16, lines_u16, lines_i32, lines_u32, lines_i64, lines_u64},
	.layer_norm = {layer_norm_f32, layer_norm_f64},
	.layer_norm_grad = {layer_norm_grad_f32, layer_norm_grad_f64},
	.square_sum = {square_sum_f32, square_sum_f64},
	.cross_entropy = {cross_entropy_f32, cross_entropy_f64},
	.correct = {correct_f32, correct_f64},
	.squared_error = {squared_error_f32, squared_error_f64},
	.sgd = {sgd_f32, sgd_f64},
	.adam = {adam_f32, adam_f64},
	.draw = {draw_f32, draw_f64},
	.act_grad_bias = {act_grad_bias_f32, act_grad_bias_f64},
	.max_grad = {max_grad_f32, max_grad_f64},
};
