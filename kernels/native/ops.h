/* The elementwise operations, one line each:
 *
 *	OP(name, types, inputs, type of the result, cost, formula of x, y, w, a and b)
 *
 * name is the Go kernel's with spaces as underscores. types are FLOATS, INTEGERS, or ANY for
 * both; REAL is the type of the operands. The cost of an element is in units of an addition's.
 * Formulas must be right for NaN and infinities, as their Go references are. */

#define H5K_GELU(x) ((REAL)0.5 * (x) * (1 + ERF((x) * (REAL)0.70710678118654752)))
#define H5K_GELU_GRAD(x) ((REAL)0.5 * (1 + ERF((x) * (REAL)0.70710678118654752)) + (x) * (REAL)0.39894228040143268 * EXP((REAL)-0.5 * (x) * (x)))
/* (1 + tanh u)/2 is sigmoid(2u), and its derivative sigmoid(2u)·sigmoid(-2u), which 1 - tanh² u is too, but for
 * the rounding errors that it leaves of numbers close to 1. Squares are bounded where sigmoid(-2u) is 0, so that
 * they do not overflow. */
#define H5K_GELU_TANH_ARGUMENT(x) ((REAL)1.5957691216057308 * (x) * (1 + (REAL)0.044715 * (x) * (x)))
#define H5K_GELU_TANH(x) ((x) * H5K_SIGMOID(H5K_GELU_TANH_ARGUMENT(x)))
#define H5K_GELU_TANH_SQUARE(x) ((x) * (x) < 1024 ? (x) * (x) : 1024)
#define H5K_GELU_TANH_TAIL(x) EXP(-FABS(H5K_GELU_TANH_ARGUMENT(x)))
#define H5K_GELU_TANH_GRAD(x) \
	(((x) < 0 ? H5K_GELU_TANH_TAIL(x) : 1) / (1 + H5K_GELU_TANH_TAIL(x)) + \
	 (x) * H5K_GELU_TANH_TAIL(x) / ((1 + H5K_GELU_TANH_TAIL(x)) * (1 + H5K_GELU_TANH_TAIL(x))) * (REAL)1.5957691216057308 * (1 + (REAL)0.134145 * H5K_GELU_TANH_SQUARE(x)))
#define H5K_SIGMOID(x) (1 / (1 + EXP(-(x))))
#define H5K_SILU(x) ((x) / (1 + EXP(-(x))))
#define H5K_SILU_GRAD(x) (H5K_SIGMOID(x) * (1 + (x) * (1 - H5K_SIGMOID(x))))
/* ln(1 + u) for u from 0 to 1, to the last digits: the rounding error of w = 1 + u is in both factors of
 * u·ln(w)/(w − 1) (Goldberg, doi:10.1145/103162.103163, theorem 4). */
#define H5K_LOG1P(u) (1 + (u) == 1 ? (u) : LOG(1 + (u)) * (u) / ((1 + (u)) - 1))
/* eˣ − 1 for x ≤ 0, as 2t/(1 − t) with t = tanh(x/2), which loses no digits near 0. */
#define H5K_EXPM1(x) (2 * TANH((REAL)0.5 * (x)) / (1 - TANH((REAL)0.5 * (x))))

#define H5K_OPS(OP) \
	OP(add, ANY, 2, REAL, 1, x + y) \
	OP(sub, ANY, 2, REAL, 1, x - y) \
	OP(mul, ANY, 2, REAL, 1, x * y) \
	OP(div, FLOATS, 2, REAL, 1, x / y) \
	OP(maximum, ANY, 2, REAL, 1, ((x > y) | (x != x)) ? x : y) \
	OP(minimum, ANY, 2, REAL, 1, ((x < y) | (x != x)) ? x : y) \
	OP(neg, ANY, 1, REAL, 1, -x) \
	OP(abs, ANY, 1, REAL, 1, FABS(x)) \
	OP(exp, FLOATS, 1, REAL, 2, EXP(x)) \
	OP(log, FLOATS, 1, REAL, 2, LOG(x)) \
	OP(sqrt, FLOATS, 1, REAL, 2, SQRT(x)) \
	OP(relu, FLOATS, 1, REAL, 1, x < 0 ? 0 : x) \
	OP(tanh, FLOATS, 1, REAL, 3, TANH(x)) \
	OP(sigmoid, FLOATS, 1, REAL, 3, H5K_SIGMOID(x)) \
	OP(gelu, FLOATS, 1, REAL, 3, H5K_GELU(x)) \
	OP(gelu_tanh, FLOATS, 1, REAL, 3, H5K_GELU_TANH(x)) \
	OP(silu, FLOATS, 1, REAL, 3, H5K_SILU(x)) \
	OP(relu_grad, FLOATS, 2, REAL, 1, x <= 0 ? 0 : y) \
	OP(tanh_grad, FLOATS, 2, REAL, 1, y * (1 - x * x)) \
	OP(sigmoid_grad, FLOATS, 2, REAL, 1, y * (x * (1 - x))) \
	OP(gelu_grad, FLOATS, 2, REAL, 4, y * H5K_GELU_GRAD(x)) \
	OP(gelu_tanh_grad, FLOATS, 2, REAL, 4, y * H5K_GELU_TANH_GRAD(x)) \
	OP(silu_grad, FLOATS, 2, REAL, 4, y * H5K_SILU_GRAD(x)) \
	OP(softplus, FLOATS, 1, REAL, 4, (x > 0 ? x : 0) + H5K_LOG1P(EXP(-FABS(x)))) \
	OP(elu, FLOATS, 1, REAL, 3, x > 0 ? b * x : a * H5K_EXPM1(x)) \
	OP(elu_grad, FLOATS, 2, REAL, 3, x > 0 ? b * y : a * EXP(x) * y) \
	OP(scale_offset, FLOATS, 1, REAL, 1, x * a + b) \
	OP(bias_relu, FLOATS, 2, REAL, 1, x + y < 0 ? 0 : x + y) \
	OP(bias_tanh, FLOATS, 2, REAL, 3, TANH(x + y)) \
	OP(bias_sigmoid, FLOATS, 2, REAL, 3, H5K_SIGMOID(x + y)) \
	OP(bias_gelu, FLOATS, 2, REAL, 3, H5K_GELU(x + y)) \
	OP(bias_gelu_tanh, FLOATS, 2, REAL, 3, H5K_GELU_TANH(x + y)) \
	OP(bias_silu, FLOATS, 2, REAL, 3, H5K_SILU(x + y)) \
	OP(multiply_add, ANY, 3, REAL, 1, x * y + w) \
	OP(lerp, FLOATS, 3, REAL, 1, x + w * (y - x)) \
	OP(clamp, ANY, 3, REAL, 1, x < y ? y : x > w ? w : x) \
	OP(less, ANY, 2, uint8_t, 1, x < y) \
	OP(less_equal, ANY, 2, uint8_t, 1, x <= y) \
	OP(greater, ANY, 2, uint8_t, 1, x > y) \
	OP(greater_equal, ANY, 2, uint8_t, 1, x >= y) \
	OP(equal, ANY, 2, uint8_t, 1, x == y) \
	OP(not_equal, ANY, 2, uint8_t, 1, x != y) \
	OP(exp2, FLOATS, 1, REAL, 6, EXP2(x)) \
	OP(expm1, FLOATS, 1, REAL, 6, EXPM1(x)) \
	OP(log1p, FLOATS, 1, REAL, 6, LOG1P(x)) \
	OP(log2, FLOATS, 1, REAL, 6, LOG2(x)) \
	OP(log10, FLOATS, 1, REAL, 6, LOG10(x)) \
	OP(sin, FLOATS, 1, REAL, 6, SIN(x)) \
	OP(cos, FLOATS, 1, REAL, 6, COS(x)) \
	OP(tan, FLOATS, 1, REAL, 6, TAN(x)) \
	OP(asin, FLOATS, 1, REAL, 6, ASIN(x)) \
	OP(acos, FLOATS, 1, REAL, 6, ACOS(x)) \
	OP(atan, FLOATS, 1, REAL, 6, ATAN(x)) \
	OP(sinh, FLOATS, 1, REAL, 6, SINH(x)) \
	OP(cosh, FLOATS, 1, REAL, 6, COSH(x)) \
	OP(asinh, FLOATS, 1, REAL, 6, ASINH(x)) \
	OP(acosh, FLOATS, 1, REAL, 6, ACOSH(x)) \
	OP(atanh, FLOATS, 1, REAL, 6, ATANH(x)) \
	OP(erf, FLOATS, 1, REAL, 3, ERF(x)) \
	OP(erfc, FLOATS, 1, REAL, 6, ERFC(x)) \
	OP(floor, FLOATS, 1, REAL, 1, FLOOR(x)) \
	OP(ceil, FLOATS, 1, REAL, 1, CEIL(x)) \
	OP(trunc, FLOATS, 1, REAL, 1, TRUNC(x)) \
	OP(round, FLOATS, 1, REAL, 1, RINT(x)) \
	OP(atan2, FLOATS, 2, REAL, 6, ATAN2(x, y)) \
	OP(hypot, FLOATS, 2, REAL, 6, HYPOT(x, y)) \
	OP(copy_sign, FLOATS, 2, REAL, 1, COPYSIGN(x, y)) \
	OP(log_add_exp, FLOATS, 2, REAL, 6, (x > y ? x : y) + LOG1P(EXP(-FABS(x == y ? 0 : x - y)))) \
	OP(pow, ANY, 2, REAL, 8, POW(x, y)) \
	OP(fmod, ANY, 2, REAL, 8, FMOD(x, y)) \
	OP(remainder, ANY, 2, REAL, 8, REMAINDER(x, y)) \
	OP(floor_div, ANY, 2, REAL, 8, FLOOR_DIV(x, y)) \
	OP(bit_and, INTEGERS, 2, REAL, 1, x & y) \
	OP(bit_or, INTEGERS, 2, REAL, 1, x | y) \
	OP(bit_xor, INTEGERS, 2, REAL, 1, x ^ y) \
	OP(shift_left, INTEGERS, 2, REAL, 1, SHIFT_LEFT(x, y)) \
	OP(shift_right, INTEGERS, 2, REAL, 1, SHIFT_RIGHT(x, y))
