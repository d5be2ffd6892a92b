package kernels

import "math"

// Softplus is y = ln(1 + eˣ), as max(x, 0) + ln(1 + e^−|x|).
var Softplus = unaryKernel("softplus", unary(func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }))
