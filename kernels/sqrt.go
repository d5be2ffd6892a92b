package kernels

import "math"

// Sqrt is y = the square root of x, elementwise.
var Sqrt = unaryKernel("sqrt", unary(math.Sqrt))
