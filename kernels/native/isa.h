/* One instruction set's loops: included by isa_*.c, which set the compiler's target
 * and define H5K_TABLE, the table to fill. */
#include "table.h"
#include "vector_math.h"
#include <stdlib.h>
#include <string.h>

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

/* The functions of ops.h, of a REAL: MATH(sin) is sinf or sin. */
#define EXP MATH(exp)
#define EXP2 MATH(exp2)
#define EXPM1 MATH(expm1)
#define LOG1P MATH(log1p)
#define LOG2 MATH(log2)
#define LOG10 MATH(log10)
#define SIN MATH(sin)
#define COS MATH(cos)
#define TAN MATH(tan)
#define ASIN MATH(asin)
#define ACOS MATH(acos)
#define ATAN MATH(atan)
#define SINH MATH(sinh)
#define COSH MATH(cosh)
#define TANH MATH(tanh)
#define ASINH MATH(asinh)
#define ACOSH MATH(acosh)
#define ATANH MATH(atanh)
#define ERF MATH(erf)
#define ERFC MATH(erfc)
#define FLOOR MATH(floor)
#define CEIL MATH(ceil)
#define TRUNC MATH(trunc)
#define RINT MATH(rint)
#define ATAN2 MATH(atan2)
#define HYPOT MATH(hypot)
#define COPYSIGN MATH(copysign)
#define POW MATH(pow)
#define FMOD MATH(fmod)
#define LOG MATH(h5k_log)
#define SQRT MATH(h5k_sqrt)
#define FABS MATH(fabs)
#define REMAINDER REAL_(remainder)
#define FLOOR_DIV REAL_(floor_div)

#define REAL float
#define SUFFIX _f32
#define MATH(name) name##f
#include "real.h"
#undef REAL
#undef SUFFIX
#undef MATH

#define REAL double
#define SUFFIX _f64
#define MATH(name) name
#include "real.h"
#undef REAL
#undef SUFFIX
#undef MATH
#undef FABS
#undef POW
#undef FMOD
#undef REMAINDER
#undef FLOOR_DIV

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
#undef REAL
#undef SUFFIX

#include "bits.h"
#include "halves.h"

#define REALS_FLOATS(name) op_##name##_f32, op_##name##_f64
#define REALS_ANY REALS_FLOATS
#define REALS_INTEGERS(name) NULL, NULL
#define INTEGERS_FLOATS(name)
#define INTEGERS_INTEGERS INTEGERS_ANY
#define INTEGERS_ANY(name) op_##name##_i8, op_##name##_u8, op_##name##_i16, op_##name##_u16, op_##name##_i32, op_##name##_u32, op_##name##_i64, op_##name##_u64
#define OP(name, types, inputs, result, cost, formula) {REALS_##types(name), INTEGERS_##types(name)},
#define CAST(from) {cast_##from##_f32, cast_##from##_f64},
#define UPDATE(name, buffers, changing, terms, statements, formula) {update_##name##_f32, update_##name##_f64},
const h5k_table H5K_TABLE = {
	.name = H5K_NAME,
	.op = {H5K_OPS(OP)},
	.load_half = {load_f16, load_bf16},
	.store_half = {store_f16, store_bf16},
	.cast = {CAST(uint8_t) CAST(uint16_t) CAST(uint32_t) CAST(uint64_t) CAST(int8_t) CAST(int16_t) CAST(int32_t) CAST(int64_t) CAST(float) CAST(double)},
	.stream = stream,
	.where = {where_1, where_2, where_4, where_8, where_16},
	.copy = {copy_1, copy_2, copy_4, copy_8, copy_16},
	.reduce = {reduce_f32, reduce_f64, reduce_i8, reduce_u8, reduce_i16, reduce_u16, reduce_i32, reduce_u32, reduce_i64, reduce_u64, reduce_f16, reduce_bf16},
	.lines = {lines_f32, lines_f64, lines_i8, lines_u8, lines_i16, lines_u16, lines_i32, lines_u32, lines_i64, lines_u64, lines_f16, lines_bf16},
	.layer_norm = {layer_norm_f32, layer_norm_f64},
	.layer_norm_grad = {layer_norm_grad_f32, layer_norm_grad_f64},
	.square_sum = {square_sum_f32, square_sum_f64},
	.cross_entropy = {cross_entropy_f32, cross_entropy_f64},
	.correct = {correct_f32, correct_f64},
	.squared_error = {squared_error_f32, squared_error_f64},
	.update = {H5K_UPDATES(UPDATE)},
	.draw = {draw_f32, draw_f64},
	.act_grad_bias = {act_grad_bias_f32, act_grad_bias_f64},
	.max_grad = {max_grad_f32, max_grad_f64},
};
