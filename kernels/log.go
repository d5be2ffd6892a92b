package kernels

import "math"

// Log is y = the natural logarithm of x, elementwise, also of subnormal x.
var Log = unaryKernel("log", unary(logarithm))

// logarithm is math.Log, which is -709.09 for all subnormal numbers on amd64.
func logarithm(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p52) - 52*math.Ln2
	}
	return math.Log(x)
}
