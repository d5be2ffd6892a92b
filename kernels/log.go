package kernels

import "math"

// Log is y = the natural logarithm of x, elementwise.
var Log = unaryKernel("log", unary(math.Log))
