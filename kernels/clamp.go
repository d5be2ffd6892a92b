package kernels

// Clamp is z = x, but y where x < y, and w where x > w; NaN stays NaN.
var Clamp = ternaryKernel("clamp", ternary(clamp[float64]), ternary(clamp[int64]), ternary(clamp[uint64]))

func clamp[T computeType](x, low, high T) T {
	switch {
	case x < low:
		return low
	case x > high:
		return high
	}
	return x
}
