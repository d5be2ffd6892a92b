/* The elementwise operations, one line each:
 *
 *	OP(name, type of the result, cost, formula of x, y, a and b)
 *
 * name is the Go kernel's with spaces as underscores; REAL is float or double; the cost
 * of an element is in units of an addition's. Formulas must be right for NaN and
 * infinities, as their Go kernels are. */
#define H5K_OPS(OP) \
	OP(add, REAL, 1, x + y) \
	OP(sub, REAL, 1, x - y) \
	OP(mul, REAL, 1, x * y) \
	OP(div, REAL, 1, x / y) \
	OP(maximum, REAL, 1, ((x > y) | (x != x)) ? x : y) \
	OP(minimum, REAL, 1, ((x < y) | (x != x)) ? x : y) \
	OP(neg, REAL, 1, -x) \
	OP(abs, REAL, 1, FABS(x)) \
	OP(exp, REAL, 2, EXP(x)) \
	OP(log, REAL, 2, LOG(x)) \
	OP(sqrt, REAL, 2, SQRT(x)) \
	OP(relu, REAL, 1, x < 0 ? 0 : x) \
	OP(tanh, REAL, 3, TANH(x)) \
	OP(sigmoid, REAL, 3, 1 / (1 + EXP(-x))) \
	OP(relu_grad, REAL, 1, x <= 0 ? 0 : y) \
	OP(tanh_grad, REAL, 1, y * (1 - x * x)) \
	OP(sigmoid_grad, REAL, 1, y * (x * (1 - x))) \
	OP(scale_offset, REAL, 1, x * a + b) \
	OP(bias_relu, REAL, 1, x + y < 0 ? 0 : x + y) \
	OP(bias_tanh, REAL, 3, TANH(x + y)) \
	OP(bias_sigmoid, REAL, 3, 1 / (1 + EXP(-(x + y)))) \
	OP(less, uint8_t, 1, x < y) \
	OP(less_equal, uint8_t, 1, x <= y) \
	OP(greater, uint8_t, 1, x > y) \
	OP(greater_equal, uint8_t, 1, x >= y) \
	OP(equal, uint8_t, 1, x == y) \
	OP(not_equal, uint8_t, 1, x != y)
