package kernels

import "math"

// Abs is y = |x|; the least integer, which has no opposite, is unchanged.
var Abs = unaryKernel("abs", unary(math.Abs), unary(magnitude[int64]), unary(magnitude[uint64]))

func magnitude[T int | int64 | uint64](x T) T {
	if x < 0 {
		return -x
	}
	return x
}
